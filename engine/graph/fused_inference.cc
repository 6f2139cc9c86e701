// Shapes of the ops that the optimiser makes (optimizer.h).

#include "engine/graph/shape_inference.h"

namespace cosched::infer {
namespace {

void RequireChannels(const Inference& node, int input, const Shape& output) {
  node.RequireShape(input, Shape{output[output.Rank() - 1]});
}

void CheckActivation(const Inference& node) {
  const std::string& op = node.String("activation");
  const bool known = op.empty() || op == "Relu" || op == "Relu6" || op == "Sigmoid" ||
                     op == "HardSwish" || op == "Gelu" || op == "ClipByValue";
  if (!known) {
    node.Fail("activation is \"" + op + "\"",
              "\"\", Relu, Relu6, Sigmoid, HardSwish, Gelu, ClipByValue");
  }
}

}  // namespace

Outputs FusedConv2D(const Inference& node) {
  CheckActivation(node);
  Outputs output = Conv2D(node);
  RequireChannels(node, 2, output[0].shape);
  if (node.Inputs() > 3) node.RequireShape(3, output[0].shape);
  return output;
}

Outputs FusedMatMul(const Inference& node) {
  CheckActivation(node);
  node.RequireRank(0, 2);
  node.RequireRank(1, 2);
  const bool transposed = node.Bool("transpose_b");
  if (node.In(0)[1] != node.In(1)[transposed ? 1 : 0]) {
    node.Fail("inner sizes differ: " + node.In(0).ToString() + " x " + node.In(1).ToString() +
              (transposed ? "^T" : ""));
  }
  const Shape output{node.In(0)[0], node.In(1)[transposed ? 0 : 1]};
  RequireChannels(node, 2, output);
  return {{output}};
}

Outputs FusedScale(const Inference& node) {
  CheckActivation(node);
  for (int input : {1, 2}) RequireChannels(node, input, node.In(0));
  return {{node.In(0)}};
}

Outputs FusedLayerNorm(const Inference& node) {
  if (node.In(0).Rank() < 2) node.Fail("input 0 has no rows: " + node.In(0).ToString());
  for (int input : {1, 2}) RequireChannels(node, input, node.In(0));
  return {{node.In(0)}};
}

}  // namespace cosched::infer
