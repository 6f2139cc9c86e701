#include "workloads/weights_file.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "engine/base/error.h"

namespace cosched {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "COSCHEDW";
constexpr uint32_t kVersion = 1;
constexpr uint32_t kLongestName = 1024;
constexpr uint32_t kHighestRank = 8;

class Checksum {
 public:
  void Add(const void* data, size_t size) {
    value_ = crc32_z(value_, static_cast<const Bytef*>(data), size);
  }
  uint32_t Value() const { return static_cast<uint32_t>(value_); }

 private:
  uLong value_ = crc32_z(0, nullptr, 0);
};

class Writer {
 public:
  explicit Writer(const std::string& file) : stream_(file, std::ios::binary) {}

  void Bytes(const void* data, size_t size) {
    checksum_.Add(data, size);
    stream_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  template <typename Number>
  void Put(Number number) {
    Bytes(&number, sizeof number);
  }
  void Put(const std::string& name, const Tensor& tensor) {
    Put(static_cast<uint32_t>(name.size()));
    Bytes(name.data(), name.size());
    Put(uint32_t{tensor.Type() == DataType::kInt32});
    Put(static_cast<uint32_t>(tensor.GetShape().Rank()));
    for (const int64_t size : tensor.GetShape().Sizes()) Put(size);
    Put(uint64_t{tensor.Bytes()});
    Bytes(tensor.Data(), tensor.Bytes());
  }
  // Whether everything has reached the file.
  bool Finish() {
    Put(checksum_.Value());
    stream_.close();
    return !stream_.fail();
  }

 private:
  std::ofstream stream_;
  Checksum checksum_;
};

class WeightsReader {
 public:
  explicit WeightsReader(const std::string& file) : file_(file), stream_(file, std::ios::binary) {
    std::error_code error;
    left_ = std::filesystem::file_size(file, error);
    if (error || !stream_) Fail("can't be read: " + std::string(std::strerror(errno)));
  }

  NamedTensors Read() {
    std::string magic(kMagic.size(), '\0');
    Bytes(magic.data(), magic.size());
    if (magic != kMagic) Fail("is no file of tensors", "one that --save-weights wrote");
    if (const auto version = Get<uint32_t>(); version != kVersion)
      Fail("has version " + std::to_string(version), std::to_string(kVersion));
    NamedTensors tensors;
    for (auto count = Get<uint32_t>(); count > 0; --count) {
      std::string name = Name();
      Tensor tensor = Value(name);
      if (!tensors.emplace(name, std::move(tensor)).second) Fail("has \"" + name + "\" twice");
    }
    const uint32_t checksum = checksum_.Value();
    if (Get<uint32_t>() != checksum) Fail("is damaged: its checksum is another");
    if (left_ > 0) Fail("goes on behind its end");
    return tensors;
  }

 private:
  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed = "") const {
    throw InputError({.file = file_, .problem = problem, .allowed = allowed});
  }

  void Bytes(void* data, size_t size) {
    if (size > left_ || !stream_.read(static_cast<char*>(data), static_cast<std::streamsize>(size)))
      Fail("is cut off");
    left_ -= size;
    checksum_.Add(data, size);
  }

  template <typename Number>
  Number Get() {
    Number number;
    Bytes(&number, sizeof number);
    return number;
  }

  std::string Name() {
    const auto length = Get<uint32_t>();
    if (length < 1 || length > kLongestName)
      Fail("has a name of " + std::to_string(length) + " characters",
           "1 to " + std::to_string(kLongestName));
    std::string name(length, '\0');
    Bytes(name.data(), length);
    if (!std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; }))
      Fail("has a name with characters that are not printable");
    return name;
  }

  Tensor Value(const std::string& name) {
    const auto type = Get<uint32_t>(), rank = Get<uint32_t>();
    if (type > 1) Fail("\"" + name + "\" has type " + std::to_string(type), "0 or 1");
    if (rank > kHighestRank)
      Fail("\"" + name + "\" has rank " + std::to_string(rank), std::to_string(kHighestRank));
    std::vector<int64_t> sizes(rank);
    uint64_t bytes = 4;
    for (int64_t& size : sizes) {
      size = Get<int64_t>();
      if (size < 1) Fail("\"" + name + "\" has size " + std::to_string(size), "1 or more");
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) bytes = UINT64_MAX;
    }
    const auto stored = Get<uint64_t>();
    if (bytes != stored && bytes != UINT64_MAX)
      Fail("\"" + name + "\" has " + std::to_string(stored) + " bytes", std::to_string(bytes));
    if (bytes > left_) Fail("is cut off in \"" + name + "\"");  // Before memory is taken.
    Tensor tensor(Shape(std::move(sizes)), type == 1 ? DataType::kInt32 : DataType::kFloat);
    Bytes(tensor.Data(), bytes);
    return tensor;
  }

  std::string file_;
  std::ifstream stream_;
  uint64_t left_ = 0;
  Checksum checksum_;
};

}  // namespace

void SaveTensors(const NamedTensors& tensors, const std::string& file) {
  const std::string part = file + "." + std::to_string(getpid()) + ".part";
  Writer writer(part);
  writer.Bytes(kMagic.data(), kMagic.size());
  writer.Put(kVersion);
  writer.Put(static_cast<uint32_t>(tensors.size()));
  for (const auto& [name, tensor] : tensors) writer.Put(name, tensor);
  std::error_code error;
  if (writer.Finish()) {
    std::filesystem::rename(part, file, error);
    if (!error) return;
  }
  const std::string why = error ? error.message() : std::strerror(errno);
  std::filesystem::remove(part, error);
  throw OutputError(file + " can't be written: " + why);
}

NamedTensors LoadTensors(const std::string& file) { return WeightsReader(file).Read(); }

std::vector<std::string> WeightNames(const Graph& graph) {
  std::set<NodeId> accumulators;
  for (const Node& node : graph.Nodes()) {
    if (node.op == "ApplyMomentum") accumulators.insert(node.inputs[1].node);
  }
  std::vector<std::string> names;
  for (const Node& node : graph.Nodes()) {
    if (node.op == "VariableV2" && !accumulators.contains(node.id)) names.push_back(node.name);
  }
  return names;
}

void CheckWeights(const NamedTensors& weights, const std::string& file, const Graph& graph) {
  const auto fail = [&file](const std::string& problem, const std::string& allowed) {
    throw InputError({.file = file, .problem = problem, .allowed = allowed});
  };
  const std::vector<std::string> names = WeightNames(graph);
  for (const std::string& name : names) {
    const OutputInfo& info = graph.At(graph.Find(name)).outputs[0];
    const auto found = weights.find(name);
    if (found == weights.end()) fail("lacks \"" + name + "\"", "the variables of the model");
    const Tensor& value = found->second;
    if (value.GetShape() != info.shape || value.Type() != info.type)
      fail("\"" + name + "\" has the shape " + value.GetShape().ToString(), info.shape.ToString());
  }
  if (weights.size() == names.size()) return;
  for (const auto& [name, value] : weights) {
    if (std::ranges::find(names, name) == names.end())
      fail("\"" + name + "\" is no variable of the model", "the variables of the model");
  }
}

}  // namespace cosched
