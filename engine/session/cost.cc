#include "engine/session/cost.h"

namespace cosched {
namespace {

// A core does some 50 operations of a convolution while it moves one element from memory.
constexpr double kElement = 50;

double Elements(const OutputInfo& info) { return static_cast<double>(info.shape.Elements()); }

// 2 * elements of the convolution's output * window * input channels.
double Convolution(double output_elements, const Shape& filter) {
  const int64_t window = filter[0] * filter[1] * filter[2];
  return 2 * output_elements * static_cast<double>(window);
}

}  // namespace

double EstimateCost(const Node& node, const std::vector<OutputInfo>& inputs) {
  if (node.op == "Conv2D" || node.op == "_FusedConv2D")
    return Convolution(Elements(node.outputs[0]), inputs[1].shape);
  if (node.op == "Conv2DBackpropInput") return Convolution(Elements(inputs[1]), inputs[0].shape);
  if (node.op == "Conv2DBackpropFilter") {
    return Convolution(Elements(inputs[1]), node.outputs[0].shape);
  }
  if (node.op == "_FusedMatMul") {
    return 2 * Elements(node.outputs[0]) * static_cast<double>(inputs[0].shape[1]);
  }
  if (node.op == "MatMul") {
    const int64_t inner = inputs[0].shape[GetAttribute<bool>(node, "transpose_a") ? 0 : 1];
    return 2 * Elements(node.outputs[0]) * static_cast<double>(inner);
  }
  if (node.op == "Reshape" || node.op == "NoOp") return 0;
  double elements = 0;
  if (node.op != "Slice") {  // Reads as much as it writes, however large its input is.
    for (const OutputInfo& input : inputs) elements += Elements(input);
  }
  for (const OutputInfo& output : node.outputs) elements += Elements(output);
  return kElement * elements;
}

}  // namespace cosched
