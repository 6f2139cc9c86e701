#include "engine/session/cost.h"

#include "engine/graph/flops.h"

namespace cosched {
namespace {

// A core does some 50 operations of a convolution while it moves one element from memory.
constexpr double kElement = 50;

double Elements(const OutputInfo& info) { return static_cast<double>(info.shape.Elements()); }

}  // namespace

double EstimateCost(const Node& node, const std::vector<OutputInfo>& inputs) {
  if (const double flops = Flops(node, inputs); flops > 0) return flops;
  if (node.op == "Reshape" || node.op == "NoOp") return 0;
  double elements = 0;
  if (node.op != "Slice") {  // Reads as much as it writes, however large its input is.
    for (const OutputInfo& input : inputs) elements += Elements(input);
  }
  for (const OutputInfo& output : node.outputs) elements += Elements(output);
  return kElement * elements;
}

}  // namespace cosched
