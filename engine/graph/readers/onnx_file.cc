// Reads ONNX files through libonnx's protobuf classes, into a SourceModel. The only file that sees
// them. Format: github.com/onnx/onnx/blob/main/docs/IR.md and onnx.proto.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/graph/readers/external_data.h"
#include "engine/graph/readers/model_file.h"
#include "engine/graph/readers/source_model.h"

namespace cosched {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;

constexpr int kFirstOpset = 7;  // The opset since which all ops here mean what they do in 11 on.
constexpr int kLastOpset = 20;
constexpr size_t kMostNameLength = 4096;

// Parses a whole message; the stream is at its end afterwards.
template <typename Message>
bool ParseAll(google::protobuf::io::ZeroCopyInputStream* stream, Message* message) {
  google::protobuf::io::CodedInputStream coded(stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  return message->ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

template <typename Message>
void ParseFile(const std::string& file, Message* message) {
  CheckRegularFile(file);
  std::ifstream stream(file, std::ios::binary);
  google::protobuf::io::IstreamInputStream input(&stream);
  if (!ParseAll(&input, message)) {
    FailFile(file, "is truncated or no ONNX file", "one protobuf message of at most 2 GiB");
  }
}

std::string TypeName(int type) {
  return TensorProto::DataType_IsValid(type)
             ? TensorProto::DataType_Name(static_cast<TensorProto::DataType>(type))
             : "type " + std::to_string(type);
}

// Turns TensorProtos into constants, freeing the proto's memory on the way.
class TensorReader {
 public:
  TensorReader(std::string file, ExternalData* external)
      : file_(std::move(file)), external_(external) {}

  Constant Read(TensorProto* tensor) {
    const std::string name = "tensor \"" + tensor->name().substr(0, 256) + "\"";
    Constant result;
    result.dims.assign(tensor->dims().begin(), tensor->dims().end());
    const int64_t elements = ElementsOf(result.dims);
    if (elements < 0 || result.dims.size() > kMostRank) {
      Fail(name + " has shape " + DimsText(result.dims), "sizes from 0 on, 2^40 elements");
    }
    const int type = tensor->data_type();
    result.is_float = type == TensorProto::FLOAT || type == TensorProto::DOUBLE;
    if (!result.is_float && elements > kMostIntegers) {
      Fail(name + " holds " + std::to_string(elements) + " integers",
           std::to_string(kMostIntegers) + " at most");
    }
    if (tensor->has_segment()) Fail(name + " is in segments", "whole tensors");
    const size_t bytes = static_cast<size_t>(elements) * ElementBytes(type, name);
    Count(bytes, name);
    if (tensor->data_location() == TensorProto::EXTERNAL) {
      FromExternal(*tensor, name, bytes, elements, &result);
    } else if (tensor->has_raw_data() && !tensor->raw_data().empty()) {
      std::string raw;
      raw.swap(*tensor->mutable_raw_data());
      if (raw.size() != bytes) Fail(name + SizeText(raw.size(), result.dims));
      FromRaw(raw, type, elements, &result);
    } else {
      FromFields(*tensor, name, elements, &result);
    }
    tensor->Clear();
    return result;
  }

 private:
  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed = "") const {
    FailFile(file_, problem, allowed);
  }

  static std::string SizeText(size_t bytes, const std::vector<int64_t>& dims) {
    return " holds " + std::to_string(bytes) + " bytes or values, which do not fit its shape " +
           DimsText(dims);
  }

  size_t ElementBytes(int type, const std::string& name) const {
    switch (type) {
      case TensorProto::FLOAT:
      case TensorProto::INT32: return 4;
      case TensorProto::DOUBLE:
      case TensorProto::INT64: return 8;
      case TensorProto::BOOL: return 1;
      default: Fail(name + " is of " + TypeName(type), "FLOAT, DOUBLE, INT32, INT64, BOOL");
    }
  }

  void Count(size_t bytes, const std::string& name) {
    if (bytes > static_cast<size_t>(kMostWeightBytes) - total_) {
      Fail("the tensors up to " + name + " hold more than " + std::to_string(kMostWeightBytes) +
           " bytes");
    }
    total_ += bytes;
  }

  void FromExternal(const TensorProto& tensor, const std::string& name, size_t bytes,
                    int64_t elements, Constant* result) {
    ExternalData::Place place;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") place.location = entry.value();
      if (entry.key() == "offset") place.offset = entry.value();
      if (entry.key() == "length") place.length = entry.value();
    }
    std::ifstream stream = external_->Open(place, name, bytes);
    const auto read = [&](char* to) {
      stream.read(to, static_cast<std::streamsize>(bytes));
      if (!stream) Fail(name + ", whose data are in \"" + place.location + "\": can't be read");
    };
    if (tensor.data_type() == TensorProto::FLOAT && elements > 0) {
      // At once to where they stay: a model's weights may be most of what it takes.
      result->floats = Tensor(Shape(result->dims));
      return read(static_cast<char*>(result->floats.Data()));
    }
    std::string raw(bytes, '\0');
    read(raw.data());
    FromRaw(raw, tensor.data_type(), elements, result);
  }

  static void FromRaw(const std::string& raw, int type, int64_t elements, Constant* result) {
    const auto count = static_cast<size_t>(elements);
    if (result->is_float && elements > 0) {
      result->floats = Tensor(Shape(result->dims));
      float* to = result->floats.Floats();
      if (type == TensorProto::FLOAT) {
        std::memcpy(to, raw.data(), raw.size());
      } else {
        for (size_t i = 0; i < count; ++i) {
          double value = 0;
          std::memcpy(&value, raw.data() + 8 * i, 8);
          to[i] = static_cast<float>(value);
        }
      }
      return;
    }
    for (size_t i = 0; i < count && !result->is_float; ++i) {
      int32_t narrow = 0;
      int64_t wide = 0;
      if (type == TensorProto::INT64) std::memcpy(&wide, raw.data() + 8 * i, 8);
      if (type == TensorProto::INT32) std::memcpy(&narrow, raw.data() + 4 * i, 4);
      if (type == TensorProto::BOOL) narrow = raw[i] != 0;
      result->ints.push_back(type == TensorProto::INT64 ? wide : narrow);
    }
  }

  template <typename Values>
  void CopyValues(const Values& values, const std::string& name, int64_t elements,
                  Constant* result) {
    if (values.size() != elements) {
      Fail(name + SizeText(static_cast<size_t>(values.size()), result->dims));
    }
    if (!result->is_float) {
      result->ints.assign(values.begin(), values.end());
    } else if (elements > 0) {
      result->floats = Tensor(Shape(result->dims));
      std::transform(values.begin(), values.end(), result->floats.Floats(),
                     [](auto value) { return static_cast<float>(value); });
    }
  }

  void FromFields(const TensorProto& tensor, const std::string& name, int64_t elements,
                  Constant* result) {
    switch (tensor.data_type()) {
      case TensorProto::FLOAT: return CopyValues(tensor.float_data(), name, elements, result);
      case TensorProto::DOUBLE: return CopyValues(tensor.double_data(), name, elements, result);
      case TensorProto::INT64: return CopyValues(tensor.int64_data(), name, elements, result);
      default: return CopyValues(tensor.int32_data(), name, elements, result);
    }
  }

  std::string file_;
  ExternalData* external_;
  size_t total_ = 0;
};

class OnnxReader {
 public:
  OnnxReader(onnx::ModelProto* proto, const std::string& file, ExternalData* external)
      : proto_(*proto), tensors_(file, external) {
    model_.file = file;
    model_.channels_first = true;
  }

  SourceModel Read() {
    CheckVersion();
    onnx::GraphProto& graph = *proto_.mutable_graph();
    if (graph.sparse_initializer_size() > 0) Fail("has sparse tensors", "dense ones");
    std::map<std::string, TensorProto*> tensors;
    for (TensorProto& tensor : *graph.mutable_initializer()) {
      AddTensor(tensor.name(), &tensor, &tensors);
    }
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (!tensors.contains(input.name())) AddInput(input);
    }
    for (onnx::NodeProto& node : *graph.mutable_node()) AddNode(&node, &tensors);
    for (const onnx::ValueInfoProto& output : graph.output()) {
      model_.outputs.push_back(output.name());
    }
    if (model_.outputs.empty()) Fail("has no output");
    FuseHardSwish(&model_);
    SortNodes(&model_);
    ReadTensors(tensors);
    for (SourceInput& input : model_.inputs) input.channels_last = IsTransposed(input);
    return std::move(model_);
  }

 private:
  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed = "") const {
    FailFile(model_.file, problem, allowed);
  }

  void CheckVersion() {
    if (!proto_.has_graph()) Fail("holds no graph", "an ONNX model");
    for (const auto& opset : proto_.opset_import()) {
      if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
      if (opset.version() < kFirstOpset || opset.version() > kLastOpset) {
        Fail("is of opset " + std::to_string(opset.version()),
             std::to_string(kFirstOpset) + " to " + std::to_string(kLastOpset));
      }
      model_.opset = static_cast<int>(opset.version());
    }
    if (model_.opset == 0) Fail("names no opset of ai.onnx", "an ONNX model");
    model_.format = "ONNX opset " + std::to_string(model_.opset);
  }

  void AddTensor(const std::string& name, TensorProto* tensor,
                 std::map<std::string, TensorProto*>* tensors) {
    if (name.empty() || name.size() > kMostNameLength) Fail("a tensor has no or a very long name");
    if (!tensors->emplace(name, tensor).second) Fail("two tensors are called \"" + name + "\"");
    model_.constants[name] = std::make_shared<Constant>();
  }

  void AddInput(const onnx::ValueInfoProto& proto) {
    SourceInput input = {.name = proto.name(), .sizes = {}};
    const std::string name = "input \"" + input.name.substr(0, 256) + "\"";
    const onnx::TypeProto_Tensor& type = proto.type().tensor_type();
    if (!proto.type().has_tensor_type() || type.elem_type() != TensorProto::FLOAT) {
      Fail(name + " is of " + TypeName(type.elem_type()), "FLOAT tensors");
    }
    if (!type.has_shape()) Fail(name + " has no shape");
    for (const auto& dimension : type.shape().dim()) {
      const bool known = dimension.has_dim_value() && dimension.dim_value() > 0;
      if (!known && !input.sizes.empty()) {
        Fail(name + " has no fixed size \"" + dimension.dim_param().substr(0, 64) +
                 "\" in dimension " + std::to_string(input.sizes.size()),
             "fixed sizes but for the first, the batch");
      }
      if (known && dimension.dim_value() > std::numeric_limits<int32_t>::max()) {
        Fail(name + " has size " + std::to_string(dimension.dim_value()), "2^31 - 1 at most");
      }
      input.sizes.push_back(known ? dimension.dim_value() : -1);
    }
    if (input.sizes.size() > 6) Fail(name + " has more than 6 dimensions");
    model_.inputs.push_back(std::move(input));
  }

  void AddNode(onnx::NodeProto* proto, std::map<std::string, TensorProto*>* tensors) {
    SourceNode node = {.name = proto->name().substr(0, kMostNameLength),
                       .op = proto->op_type(),
                       .inputs = {proto->input().begin(), proto->input().end()},
                       .outputs = {proto->output().begin(), proto->output().end()}};
    if (!proto->domain().empty() && proto->domain() != "ai.onnx") {
      node.op = proto->domain() + "::" + node.op;
    }
    if (node.name.empty() && !node.outputs.empty()) {
      node.name = node.outputs[0].substr(0, kMostNameLength);
    }
    // A Constant is a tensor of the file like any other.
    if (node.op == "Constant" && proto->attribute_size() == 1 && node.outputs.size() == 1 &&
        proto->attribute(0).type() == AttributeProto::TENSOR) {
      return AddTensor(node.outputs[0], proto->mutable_attribute(0)->mutable_t(), tensors);
    }
    for (AttributeProto& attribute : *proto->mutable_attribute()) {
      if (!node.attributes.emplace(attribute.name(), AttributeOf(&attribute)).second) {
        FailSource(model_.file, node, "has attribute " + attribute.name() + " twice");
      }
    }
    model_.nodes.push_back(std::move(node));
  }

  SourceAttribute AttributeOf(AttributeProto* attribute) {
    switch (attribute->type()) {
      case AttributeProto::INT: return attribute->i();
      case AttributeProto::FLOAT: return attribute->f();
      case AttributeProto::STRING: return attribute->s();
      case AttributeProto::INTS:
        return std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
      case AttributeProto::FLOATS:
        return std::vector<float>(attribute->floats().begin(), attribute->floats().end());
      case AttributeProto::TENSOR:
        return std::make_shared<const Constant>(tensors_.Read(attribute->mutable_t()));
      default: return OtherAttribute();
    }
  }

  // The tensors that the outputs need: files keep others, of any type.
  void ReadTensors(const std::map<std::string, TensorProto*>& tensors) {
    std::set<std::string> used;
    for (const SourceNode& node : model_.nodes) {
      used.insert(node.inputs.begin(), node.inputs.end());
    }
    used.insert(model_.outputs.begin(), model_.outputs.end());
    for (const auto& [name, tensor] : tensors) {
      if (!used.contains(name)) {
        model_.constants.erase(name);
        continue;
      }
      tensor->set_name(name);
      Constant& constant = *model_.constants.at(name);
      constant = tensors_.Read(tensor);
      constant.weight = name;
    }
  }

  bool IsTransposed(const SourceInput& input) const {
    bool read = false;
    for (const SourceNode& node : model_.nodes) {
      if (std::find(node.inputs.begin(), node.inputs.end(), input.name) == node.inputs.end()) {
        continue;
      }
      const auto perm = node.attributes.find("perm");
      const auto* order = perm == node.attributes.end()
                              ? nullptr
                              : std::get_if<std::vector<int64_t>>(&perm->second);
      if (node.op != "Transpose" || order == nullptr ||
          *order != std::vector<int64_t>{0, 3, 1, 2}) {
        return false;
      }
      read = true;
    }
    return read && input.sizes.size() == 4;
  }

  onnx::ModelProto& proto_;
  TensorReader tensors_;
  SourceModel model_;
};

}  // namespace

std::shared_ptr<const ModelFile> ReadOnnx(const std::filesystem::path& file) {
  onnx::ModelProto proto;
  ParseFile(file.string(), &proto);
  ExternalData external(file.string());
  return std::make_shared<ModelFile>(OnnxReader(&proto, file.string(), &external).Read());
}

std::shared_ptr<const ModelFile> ParseOnnx(std::string_view bytes, const std::string& name) {
  onnx::ModelProto proto;
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  if (!ParseAll(&input, &proto)) FailFile(name, "is truncated or no ONNX file");
  ExternalData external("");
  return std::make_shared<ModelFile>(OnnxReader(&proto, name, &external).Read());
}

Tensor ReadTensorProto(const std::filesystem::path& file) {
  TensorProto proto;
  ParseFile(file.string(), &proto);
  ExternalData external(file.string());
  const Constant constant = TensorReader(file.string(), &external).Read(&proto);
  if (!constant.is_float || constant.floats.IsEmpty()) {
    FailFile(file.string(), "holds no floating-point numbers", "an onnx TensorProto of FLOAT");
  }
  return constant.floats;
}

}  // namespace cosched
