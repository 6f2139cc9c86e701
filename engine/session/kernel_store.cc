#include "engine/session/kernel_store.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace cosched {
namespace {

// Bytes that are equal if and only if what they are made of is.
class Key {
 public:
  template <typename T>
  void AddValue(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Add(const std::string& text) {
    AddValue(text.size());
    bytes_ += text;
  }
  void Add(const std::vector<int64_t>& values) {
    AddValue(values.size());
    for (int64_t value : values) AddValue(value);
  }
  void Add(const Attribute& attribute) {
    AddValue(attribute.index());
    std::visit(
        [this](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, Tensor>) {
            AddValue(value.Data());
          } else if constexpr (std::is_trivially_copyable_v<T>) {
            AddValue(value);
          } else {
            Add(value);
          }
        },
        attribute);
  }
  const std::string& Bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string KeyOf(const KernelSpec& spec) {
  Key key;
  key.AddValue(spec.Threads());
  key.Add(spec.node.op);
  for (const auto& [name, value] : spec.node.attributes) {
    key.Add(name);
    key.Add(value);
  }
  const auto add = [&key](const OutputInfo& info) {
    key.Add(info.shape.Sizes());
    key.AddValue(info.type);
  };
  key.AddValue(spec.inputs.size());
  for (const OutputInfo& input : spec.inputs) add(input);
  for (const OutputInfo& output : spec.node.outputs) add(output);
  for (size_t i = 0; i < spec.inputs.size(); ++i)
    key.AddValue(spec.Constant(i) == nullptr ? nullptr : spec.Constant(i)->Data());
  return key.Bytes();
}

}  // namespace

Kernel* KernelStore::For(KernelSpec spec, int task, const Ancestors& before) {
  std::vector<Entry>& equal = kernels_[KeyOf(spec)];
  auto found = std::find_if(equal.begin(), equal.end(), [&](const Entry& entry) {
    return entry.plan != plan_ || before.IsBefore(entry.task, task);
  });
  if (found == equal.end()) {
    spec.packed = &packed_constants_;
    found = equal.insert(found, {.kernel = CreateKernel(spec, backend_)});
  }
  found->plan = plan_;
  found->task = task;
  return found->kernel.get();
}

}  // namespace cosched
