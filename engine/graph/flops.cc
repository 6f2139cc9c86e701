#include "engine/graph/flops.h"

#include <algorithm>

namespace cosched {
namespace {

double Elements(const Shape& shape) { return static_cast<double>(shape.Elements()); }

// The filter is [height, width, input channels of a group, output channels].
double ConvolutionFlops(const Shape& output, const Shape& filter) {
  return 2 * Elements(output) * static_cast<double>(filter[0] * filter[1] * filter[2]);
}

}  // namespace

double Flops(const Node& node, const std::vector<OutputInfo>& inputs) {
  if (node.op == "Conv2D" || node.op == "_FusedConv2D") {
    return ConvolutionFlops(node.outputs[0].shape, inputs[1].shape);
  }
  // Gradients do as many multiplications as the convolution they belong to.
  if (node.op == "Conv2DBackpropInput") return ConvolutionFlops(inputs[1].shape, inputs[0].shape);
  if (node.op == "Conv2DBackpropFilter") {
    return ConvolutionFlops(inputs[1].shape, node.outputs[0].shape);
  }
  if (node.op == "MatMul" || node.op == "_FusedMatMul") {
    const bool transposed = node.op == "MatMul" && GetAttribute<bool>(node, "transpose_a");
    const int64_t inner = inputs[0].shape[transposed ? 0 : 1];
    return 2 * Elements(node.outputs[0].shape) * static_cast<double>(inner);
  }
  return 0;
}

double ElementsRead(const Node& node, const std::vector<OutputInfo>& inputs) {
  if (node.op == "MaxPool" || node.op == "AvgPool") {
    const auto& window = GetAttribute<std::vector<int64_t>>(node, "ksize");
    const Shape& image = inputs[0].shape;
    // Not what lies on padding.
    return Elements(node.outputs[0].shape) *
           static_cast<double>(std::min(window[0], image[1]) * std::min(window[1], image[2]));
  }
  double elements = 0;
  for (const OutputInfo& input : inputs) elements += Elements(input.shape);
  if (node.op == "LRN") {
    const int64_t radius = GetAttribute<int64_t>(node, "depth_radius");
    elements *= static_cast<double>(2 * std::min(radius, inputs[0].shape[3]) + 1);
  }
  return elements;
}

}  // namespace cosched
