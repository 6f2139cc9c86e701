#include "engine/graph/flops.h"

namespace cosched {
namespace {

double Elements(const Shape& shape) { return static_cast<double>(shape.Elements()); }

// The filter is [height, width, input channels of a group, output channels].
double Convolution(const Shape& output, const Shape& filter) {
  return 2 * Elements(output) * static_cast<double>(filter[0] * filter[1] * filter[2]);
}

}  // namespace

double Flops(const Node& node, const std::vector<OutputInfo>& inputs) {
  if (node.op == "Conv2D" || node.op == "_FusedConv2D") {
    return Convolution(node.outputs[0].shape, inputs[1].shape);
  }
  // Gradients do as many multiplications as the convolution they belong to.
  if (node.op == "Conv2DBackpropInput") return Convolution(inputs[1].shape, inputs[0].shape);
  if (node.op == "Conv2DBackpropFilter") {
    return Convolution(inputs[1].shape, node.outputs[0].shape);
  }
  if (node.op == "MatMul" || node.op == "_FusedMatMul") {
    const bool transposed = node.op == "MatMul" && GetAttribute<bool>(node, "transpose_a");
    const int64_t inner = inputs[0].shape[transposed ? 0 : 1];
    return 2 * Elements(node.outputs[0].shape) * static_cast<double>(inner);
  }
  return 0;
}

}  // namespace cosched
