// Reads frozen TensorFlow GraphDefs into a SourceModel; the only file that sees graphdef.proto's
// classes. Format: tensorflow/core/framework/graph.proto.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include "engine/graph/readers/graphdef.pb.h"
#include "engine/graph/readers/model_file.h"
#include "engine/graph/readers/source_model.h"

namespace cosched {
namespace {

// Numbers of tensorflow/core/framework/types.proto.
constexpr int kFloat = 1;
constexpr int kDouble = 2;
constexpr int kInt32 = 3;
constexpr int kInt64 = 9;
constexpr int kBool = 10;

// Ops without a value of their own: asserts and what initialises variables.
bool HasNoValue(const std::string& op) {
  return op == "NoOp" || op == "Assert" || op == "Const" || op == "Placeholder";
}

class GraphDefReader {
 public:
  GraphDefReader(graphdef::GraphDef* graph, const std::string& file) : graph_(*graph) {
    model_.file = file;
    model_.format = "GraphDef";
  }

  SourceModel Read(int64_t file_bytes) {
    // A tensor of one repeated value may be larger than its file, within reason.
    bytes_left_ = 2 * file_bytes + (int64_t{64} << 20);
    if (graph_.node_size() == 0) Fail("holds no nodes", "a frozen GraphDef");
    std::map<std::string, graphdef::NodeDef*> constants;
    for (graphdef::NodeDef& node : *graph_.mutable_node()) AddNode(&node, &constants);
    FindOutputs();
    SortNodes(&model_);
    ReadConstants(constants);
    return std::move(model_);
  }

 private:
  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed = "") const {
    FailFile(model_.file, problem, allowed);
  }

  static SourceNode Named(const graphdef::NodeDef& proto) {
    return {.name = proto.name(), .op = proto.op(), .inputs = {}, .outputs = {proto.name()}};
  }

  void AddNode(graphdef::NodeDef* proto, std::map<std::string, graphdef::NodeDef*>* constants) {
    SourceNode node = Named(*proto);
    if (node.name.empty() || node.name.size() > 4096) Fail("a node has no or a very long name");
    if (!names_.insert(node.name).second) {
      FailSource(model_.file, node, "another node has this name", "unique names");
    }
    for (const std::string& input : proto->input()) {
      if (input.starts_with("^")) continue;  // Only an order of execution.
      node.inputs.push_back(input.ends_with(":0") ? input.substr(0, input.size() - 2) : input);
    }
    if (node.op == "Const") {
      (*constants)[node.name] = proto;
      model_.constants[node.name] = std::make_shared<Constant>();
      return;
    }
    if (node.op == "Placeholder") return AddInput(node, *proto);
    for (auto& [name, value] : *proto->mutable_attr()) {
      node.attributes[name] = AttributeOf(value);
    }
    model_.nodes.push_back(std::move(node));
  }

  void AddInput(const SourceNode& node, const graphdef::NodeDef& proto) {
    const auto type = proto.attr().find("dtype");
    if (type == proto.attr().end() || type->second.type() != kFloat) {
      FailSource(model_.file, node, "is not of floats", "DT_FLOAT");
    }
    const auto shape = proto.attr().find("shape");
    if (shape == proto.attr().end() || shape->second.shape().unknown_rank() ||
        shape->second.shape().dim_size() == 0 || shape->second.shape().dim_size() > 6) {
      FailSource(model_.file, node, "has no shape", "1 to 6 sizes, the first one may be unknown");
    }
    SourceInput input = {.name = node.name, .sizes = {}};
    for (const auto& dim : shape->second.shape().dim()) {
      const bool known = dim.size() > 0 && dim.size() <= std::numeric_limits<int32_t>::max();
      if (!known && (!input.sizes.empty() || dim.size() != -1)) {
        FailSource(model_.file, node,
                   "has size " + std::to_string(dim.size()) + " in dimension " +
                       std::to_string(input.sizes.size()),
                   "fixed sizes but for the first, the batch, which may be -1");
      }
      input.sizes.push_back(dim.size());
    }
    model_.inputs.push_back(std::move(input));
  }

  static SourceAttribute AttributeOf(const graphdef::AttrValue& value) {
    switch (value.value_case()) {
      case graphdef::AttrValue::kS: return value.s();
      case graphdef::AttrValue::kI: return value.i();
      case graphdef::AttrValue::kF: return value.f();
      case graphdef::AttrValue::kB: return int64_t{value.b()};
      case graphdef::AttrValue::kType: return int64_t{value.type()};
      case graphdef::AttrValue::kList:
        return std::vector<int64_t>(value.list().i().begin(), value.list().i().end());
      default: return OtherAttribute();
    }
  }

  // A frozen graph doesn't say what is asked of it: all that nobody reads.
  void FindOutputs() {
    std::set<std::string> read;
    for (const SourceNode& node : model_.nodes) read.insert(node.inputs.begin(), node.inputs.end());
    for (const SourceNode& node : model_.nodes) {
      if (!read.contains(node.name) && !HasNoValue(node.op)) model_.outputs.push_back(node.name);
    }
    if (model_.outputs.empty()) Fail("has no output: each of its values is read by some node");
  }

  void ReadConstants(const std::map<std::string, graphdef::NodeDef*>& protos) {
    std::set<std::string> used;
    for (const SourceNode& node : model_.nodes) used.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [name, proto] : protos) {
      if (!used.contains(name)) {
        model_.constants.erase(name);
        continue;
      }
      const SourceNode node = Named(*proto);
      const auto value = proto->mutable_attr()->find("value");
      if (value == proto->mutable_attr()->end() || !value->second.has_tensor()) {
        FailSource(model_.file, node, "has no tensor");
      }
      Constant& constant = *model_.constants.at(name);
      constant = ReadTensor(node, value->second.tensor());
      constant.weight = name;
      proto->Clear();
    }
  }

  Constant ReadTensor(const SourceNode& node, const graphdef::TensorValue& tensor) {
    Constant result;
    for (const auto& dim : tensor.tensor_shape().dim()) result.dims.push_back(dim.size());
    const int64_t elements = ElementsOf(result.dims);
    const int type = tensor.dtype();
    result.is_float = type == kFloat || type == kDouble;
    if (elements < 0 || result.dims.size() > kMostRank) {
      FailSource(model_.file, node, "has shape " + DimsText(result.dims));
    }
    if (type != kFloat && type != kDouble && type != kInt32 && type != kInt64 && type != kBool) {
      FailSource(model_.file, node, "is of type " + std::to_string(type),
                 "DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64, DT_BOOL");
    }
    if (elements > (result.is_float ? kMostWeightBytes / 4 : kMostIntegers) ||
        8 * elements > bytes_left_) {
      FailSource(model_.file, node,
                 std::to_string(elements) + " elements are more than the file's size explains");
    }
    bytes_left_ -= 4 * elements;
    const std::string& content = tensor.tensor_content();
    switch (type) {
      case kFloat: Fill<float>(node, tensor.float_val(), content, elements, &result); break;
      case kDouble: Fill<double>(node, tensor.double_val(), content, elements, &result); break;
      case kInt32: Fill<int32_t>(node, tensor.int_val(), content, elements, &result); break;
      case kInt64: Fill<int64_t>(node, tensor.int64_val(), content, elements, &result); break;
      default: Fill<uint8_t>(node, tensor.bool_val(), content, elements, &result);
    }
    return result;
  }

  // Values stand for themselves, and the last one for all that follow.
  template <typename T, typename Values>
  void Fill(const SourceNode& node, const Values& values, const std::string& content,
            int64_t elements, Constant* result) {
    if (elements == 0) return;
    const bool packed = !content.empty();
    const bool fits = packed ? content.size() == static_cast<size_t>(elements) * sizeof(T)
                             : !values.empty() && values.size() <= elements;
    if (!fits) {
      FailSource(model_.file, node, "its values do not fit its shape " + DimsText(result->dims));
    }
    const auto fill = [&](auto* to) {
      using Element = std::remove_pointer_t<decltype(to)>;
      const int64_t given = packed ? elements : values.size();
      for (int64_t i = 0; i < given; ++i) {
        T value{};
        if (packed) {
          std::memcpy(&value, content.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
        } else {
          value = values.Get(static_cast<int>(i));
        }
        to[i] = static_cast<Element>(value);
      }
      std::fill(to + given, to + elements, to[given - 1]);
    };
    if (result->is_float) {
      result->floats = Tensor(Shape(result->dims));
      fill(result->floats.Floats());
    } else {
      result->ints.resize(static_cast<size_t>(elements));
      fill(result->ints.data());
    }
  }

  graphdef::GraphDef& graph_;
  SourceModel model_;
  std::set<std::string> names_;
  int64_t bytes_left_ = 0;
};

std::shared_ptr<const ModelFile> Parse(google::protobuf::io::ZeroCopyInputStream* stream,
                                       const std::string& name) {
  graphdef::GraphDef graph;
  google::protobuf::io::CodedInputStream coded(stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  if (!graph.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    FailFile(name, "is truncated or no GraphDef", "one binary GraphDef of at most 2 GiB");
  }
  const int64_t bytes = stream->ByteCount();
  return std::make_shared<ModelFile>(GraphDefReader(&graph, name).Read(bytes));
}

}  // namespace

std::shared_ptr<const ModelFile> ReadGraphDef(const std::filesystem::path& file) {
  CheckRegularFile(file.string());
  std::ifstream stream(file, std::ios::binary);
  google::protobuf::io::IstreamInputStream input(&stream);
  return Parse(&input, file.string());
}

std::shared_ptr<const ModelFile> ParseGraphDef(std::string_view bytes, const std::string& name) {
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  return Parse(&input, name);
}

}  // namespace cosched
