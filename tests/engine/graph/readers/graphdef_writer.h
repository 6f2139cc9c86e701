#pragma once
// Makes small GraphDefs in memory, for tests and for the seeds of the fuzzer.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/readers/graphdef.pb.h"

namespace cosched {

class GraphDefWriter {
 public:
  using Dims = std::vector<int64_t>;

  graphdef::GraphDef& proto() { return graph_; }
  std::string Bytes() const { return graph_.SerializeAsString(); }

  GraphDefWriter& Placeholder(const std::string& name, const Dims& sizes) {
    Node("Placeholder", name, {});
    (*last_->mutable_attr())["dtype"].set_type(1);
    Describe((*last_->mutable_attr())["shape"].mutable_shape(), sizes);
    return *this;
  }
  // Fewer values than elements: the last one stands for the rest.
  GraphDefWriter& Floats(const std::string& name, const Dims& dims,
                         const std::vector<float>& values) {
    graphdef::TensorValue* tensor = Const(name, dims, 1);
    tensor->mutable_float_val()->Assign(values.begin(), values.end());
    return *this;
  }
  GraphDefWriter& Ints(const std::string& name, const Dims& dims, const std::vector<int>& values) {
    graphdef::TensorValue* tensor = Const(name, dims, 3);
    tensor->set_tensor_content(values.data(), values.size() * sizeof(int32_t));
    return *this;
  }
  GraphDefWriter& Node(const std::string& op, const std::string& name,
                       const std::vector<std::string>& inputs) {
    last_ = graph_.add_node();
    last_->set_op(op);
    last_->set_name(name);
    for (const std::string& input : inputs) last_->add_input(input);
    return *this;
  }

  // An attribute of the node that was added last.
  GraphDefWriter& With(const std::string& name, const Dims& values) {
    auto* list = (*last_->mutable_attr())[name].mutable_list();
    list->mutable_i()->Assign(values.begin(), values.end());
    return *this;
  }
  GraphDefWriter& With(const std::string& name, const char* value) {
    (*last_->mutable_attr())[name].set_s(value);
    return *this;
  }
  GraphDefWriter& With(const std::string& name, bool value) {
    (*last_->mutable_attr())[name].set_b(value);
    return *this;
  }
  GraphDefWriter& With(const std::string& name, int value) {
    (*last_->mutable_attr())[name].set_i(value);
    return *this;
  }
  GraphDefWriter& With(const std::string& name, float value) {
    (*last_->mutable_attr())[name].set_f(value);
    return *this;
  }

 private:
  static void Describe(graphdef::TensorShape* shape, const Dims& dims) {
    for (const int64_t size : dims) shape->add_dim()->set_size(size);
  }
  graphdef::TensorValue* Const(const std::string& name, const Dims& dims, int type) {
    Node("Const", name, {});
    (*last_->mutable_attr())["dtype"].set_type(type);
    graphdef::TensorValue* tensor = (*last_->mutable_attr())["value"].mutable_tensor();
    tensor->set_dtype(type);
    Describe(tensor->mutable_tensor_shape(), dims);
    return tensor;
  }

  graphdef::GraphDef graph_;
  graphdef::NodeDef* last_ = nullptr;
};

}  // namespace cosched
