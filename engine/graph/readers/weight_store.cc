#include "engine/graph/readers/weight_store.h"

#include "engine/base/check.h"
#include "engine/graph/readers/view.h"

namespace cosched {
namespace {

// Constants of small files: masks, shapes and the like, worked out at reading.
constexpr int64_t kFreeBytes = int64_t{64} << 20;

}  // namespace

WeightLayout WeightLayout::AsIs(const std::vector<int64_t>& dims) {
  return {.split = dims, .order = Identity(static_cast<int>(dims.size())), .shape = dims};
}

bool WeightLayout::MovesElements() const {
  int64_t last = -1;
  for (const int64_t d : order) {
    if (split[static_cast<size_t>(d)] == 1) continue;
    if (d < last) return true;
    last = d;
  }
  return false;
}

std::string WeightLayout::ToString() const {
  return DimsText(split) + DimsText(order) + DimsText(shape);
}

WeightStore::WeightStore(const SourceModel& model) {
  for (const SourceNode& node : model.nodes) {
    for (const std::string& input : node.inputs) {
      if (model.constants.contains(input)) ++readers_[input];
    }
  }
  for (const auto& [name, constant] : model.constants) {
    allowed_ += 2 * static_cast<int64_t>(constant->is_float ? 4 * ElementsOf(constant->dims)
                                                            : 8 * ElementsOf(constant->dims));
  }
  allowed_ += kFreeBytes;
}

void WeightStore::Charge(const SourceModel& model, const SourceNode& node, int64_t bytes) {
  if (bytes > allowed_ - charged_) {
    FailSource(model.file, node, "needs more memory for constants than the file's tensors explain",
               std::to_string(allowed_) + " bytes over all nodes: twice the file's tensors and " +
                   std::to_string(kFreeBytes));
  }
  charged_ += bytes;
}

Tensor WeightStore::Take(const SourceModel& model, const SourceNode& reader,
                         const ConstantPtr& constant, const WeightLayout& layout) {
  const bool of_file = model.constants.contains(constant->weight);
  const std::pair<std::string, std::string> key(constant->weight, layout.ToString());
  const auto known = made_.find(key);
  if (of_file && known != made_.end()) return known->second;
  if (constant->floats.IsEmpty()) {
    FailSource(model.file, reader,
               "the first build needed \"" + constant->weight +
                   "\" in another layout, which is the one that was kept");
  }
  const Tensor split = constant->floats.Reshaped(Shape(layout.split));
  if (!layout.MovesElements()) return split.Reshaped(Shape(layout.shape));
  const auto bytes = static_cast<int64_t>(split.Bytes());
  Charge(model, reader, bytes);
  Tensor result = Transposed(split, layout.order).Reshaped(Shape(layout.shape));
  if (of_file) {
    kept_ += bytes;
    made_[key] = result;
    if (readers_[constant->weight] == 1) {
      model.constants.at(constant->weight)->floats = Tensor();
    }
  }
  return result;
}

}  // namespace cosched
