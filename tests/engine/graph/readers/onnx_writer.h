#pragma once
// Makes small ONNX models in memory, for tests and for the seeds of the fuzzer.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cosched {

class OnnxWriter {
 public:
  using Dims = std::vector<int64_t>;

  explicit OnnxWriter(int64_t opset = 13) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
  }

  onnx::ModelProto& proto() { return model_; }
  std::string Bytes() const { return model_.SerializeAsString(); }

  // -1: a dimension with a name.
  OnnxWriter& Input(const std::string& name, const Dims& sizes) {
    onnx::ValueInfoProto* input = Graph().add_input();
    input->set_name(name);
    onnx::TypeProto_Tensor* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t size : sizes) {
      auto* dimension = type->mutable_shape()->add_dim();
      if (size < 0) {
        dimension->set_dim_param("batch");
      } else {
        dimension->set_dim_value(size);
      }
    }
    return *this;
  }
  OnnxWriter& Output(const std::string& name) {
    Graph().add_output()->set_name(name);
    return *this;
  }
  OnnxWriter& Floats(const std::string& name, const Dims& dims, const std::vector<float>& values) {
    onnx::TensorProto& tensor = *Graph().add_initializer();
    Describe(&tensor, name, dims, onnx::TensorProto::FLOAT);
    tensor.mutable_float_data()->Assign(values.begin(), values.end());
    return *this;
  }
  OnnxWriter& Ints(const std::string& name, const Dims& dims, const Dims& values) {
    onnx::TensorProto& tensor = *Graph().add_initializer();
    Describe(&tensor, name, dims, onnx::TensorProto::INT64);
    tensor.set_raw_data(values.data(), values.size() * sizeof(int64_t));
    return *this;
  }
  // The node, for its attributes; named after its output.
  OnnxWriter& Node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::string& output) {
    onnx::NodeProto* node = Graph().add_node();
    node->set_op_type(op);
    node->set_name(output + "_node");
    for (const std::string& input : inputs) node->add_input(input);
    node->add_output(output);
    return *this;
  }

  // An attribute of the node that was added last.
  OnnxWriter& With(const std::string& name, int64_t value) {
    onnx::AttributeProto& attribute = Attribute(name, onnx::AttributeProto::INT);
    attribute.set_i(value);
    return *this;
  }
  OnnxWriter& With(const std::string& name, float value) {
    Attribute(name, onnx::AttributeProto::FLOAT).set_f(value);
    return *this;
  }
  OnnxWriter& With(const std::string& name, const char* value) {
    Attribute(name, onnx::AttributeProto::STRING).set_s(value);
    return *this;
  }
  OnnxWriter& With(const std::string& name, const Dims& values) {
    onnx::AttributeProto& attribute = Attribute(name, onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Assign(values.begin(), values.end());
    return *this;
  }

 private:
  onnx::GraphProto& Graph() { return *model_.mutable_graph(); }
  onnx::AttributeProto& Attribute(const std::string& name,
                                  onnx::AttributeProto::AttributeType type) {
    onnx::GraphProto& graph = Graph();
    onnx::AttributeProto* attribute = graph.mutable_node(graph.node_size() - 1)->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return *attribute;
  }
  static void Describe(onnx::TensorProto* tensor, const std::string& name, const Dims& dims,
                       int type) {
    tensor->set_name(name);
    tensor->set_data_type(type);
    tensor->mutable_dims()->Assign(dims.begin(), dims.end());
  }

  onnx::ModelProto model_;
};

}  // namespace cosched
