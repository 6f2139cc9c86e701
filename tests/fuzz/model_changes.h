#pragma once
// Changes of a model's message for the fuzzer: something in it becomes another thing of its kind.

#include <iterator>
#include <random>
#include <string>

#include "engine/graph/readers/graphdef.pb.h"
#include "engine/graph/readers/op_reader.h"
#include "onnx/onnx_pb.h"

namespace cosched {

class ModelChanger {
 public:
  explicit ModelChanger(unsigned seed) : random_(seed) {}

  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  // Sizes, axes, strides: mostly small ones, and those at the edges of what is allowed.
  int64_t Number() {
    constexpr int64_t kEdges[] = {
        0, -1, 65535, 65536, int64_t{1} << 31, int64_t{1} << 40, INT64_MAX, INT64_MIN};
    return Below(3) == 0 ? kEdges[Below(std::size(kEdges))] : Below(9) - 2;
  }

  std::string Op(const OpTable& ops) {
    return std::next(ops.begin(), Below(static_cast<int>(ops.size())))->first;
  }

  template <typename Numbers>
  void Change(Numbers* numbers) {
    if (numbers->empty() || Below(4) == 0) {
      numbers->Add(Number());
    } else {
      numbers->Set(Below(numbers->size()), Number());
    }
  }

 private:
  std::minstd_rand random_;
};

// Empty if it is no model or has nothing to change.
inline std::string ChangedOnnx(const std::string& bytes, unsigned seed) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes) || model.graph().node_size() == 0) return "";
  ModelChanger changer(seed);
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::NodeProto& node = *graph.mutable_node(changer.Below(graph.node_size()));
  const onnx::NodeProto other = graph.node(changer.Below(graph.node_size()));
  switch (changer.Below(8)) {
    case 0: node.set_op_type(changer.Op(OnnxOps())); break;
    case 1:
      if (node.input_size() == 0 || other.output_size() == 0) return "";
      node.set_input(changer.Below(node.input_size()), other.output(0));
      break;
    case 2:
      if (graph.initializer_size() == 0) return "";
      node.add_input(graph.initializer(changer.Below(graph.initializer_size())).name());
      break;
    case 3:
      if (node.attribute_size() == 0) return "";
      changer.Change(node.mutable_attribute(changer.Below(node.attribute_size()))->mutable_ints());
      break;
    case 4:
      if (node.attribute_size() == 0) return "";
      node.mutable_attribute(changer.Below(node.attribute_size()))->set_i(changer.Number());
      break;
    case 5: {
      if (graph.initializer_size() == 0) return "";
      auto* tensor = graph.mutable_initializer(changer.Below(graph.initializer_size()));
      if (tensor->data_type() == onnx::TensorProto::INT64) {
        const int64_t value = changer.Number();
        tensor->set_raw_data(&value, sizeof value);
        tensor->mutable_dims()->Clear();
        if (changer.Below(2) == 0) tensor->add_dims(1);
      } else {
        changer.Change(tensor->mutable_dims());
      }
      break;
    }
    case 6:
      for (const auto& attribute : other.attribute()) *node.add_attribute() = attribute;
      break;
    default: {
      if (graph.input_size() == 0) return "";
      auto* shape = graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
      if (shape->dim_size() == 0) return "";
      shape->mutable_dim(changer.Below(shape->dim_size()))->set_dim_value(changer.Number());
    }
  }
  return model.SerializeAsString();
}

inline std::string ChangedGraphDef(const std::string& bytes, unsigned seed) {
  graphdef::GraphDef graph;
  if (!graph.ParseFromString(bytes) || graph.node_size() == 0) return "";
  ModelChanger changer(seed);
  graphdef::NodeDef& node = *graph.mutable_node(changer.Below(graph.node_size()));
  const graphdef::NodeDef other = graph.node(changer.Below(graph.node_size()));
  auto& attributes = *node.mutable_attr();
  switch (changer.Below(4)) {
    case 0: node.set_op(changer.Op(GraphDefOps())); break;
    case 1:
      if (node.input_size() == 0) return "";
      node.set_input(changer.Below(node.input_size()), other.name());
      break;
    case 2: attributes.insert(other.attr().begin(), other.attr().end()); break;
    default: {
      if (attributes.empty()) return "";
      auto& value =
          std::next(attributes.begin(), changer.Below(static_cast<int>(attributes.size())))->second;
      if (value.has_list()) {
        changer.Change(value.mutable_list()->mutable_i());
      } else if (value.has_i()) {
        value.set_i(changer.Number());
      } else if (value.has_shape() && value.shape().dim_size() > 0) {
        auto* shape = value.mutable_shape();
        shape->mutable_dim(changer.Below(shape->dim_size()))->set_size(changer.Number());
      } else if (value.has_tensor()) {
        auto* tensor = value.mutable_tensor();
        if (changer.Below(2) == 0) tensor->mutable_tensor_shape()->add_dim();
        if (tensor->tensor_shape().dim_size() > 0) {
          tensor->mutable_tensor_shape()->mutable_dim(0)->set_size(changer.Number());
        }
        tensor->clear_tensor_content();
        tensor->add_int_val(static_cast<int>(changer.Number()));
      } else {
        return "";
      }
    }
  }
  return graph.SerializeAsString();
}

}  // namespace cosched
