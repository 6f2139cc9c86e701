// ONNX's activations and arithmetic.

#include <limits>
#include <numbers>

#include "engine/graph/readers/common_ops.h"
#include "engine/graph/readers/fold.h"
#include "engine/graph/readers/onnx_ops.h"

namespace cosched {
namespace {

constexpr float kMost = std::numeric_limits<float>::max();

void Relu(OpReader& op) { Elementwise(op, "Relu"); }
void Sigmoid(OpReader& op) { Elementwise(op, "Sigmoid"); }
void HardSwish(OpReader& op) { Elementwise(op, "HardSwish"); }

void HardSigmoid(OpReader& op) {
  const View view = op.In(0);
  ViewBuilder& views = op.views();
  const Output slope = op.Literal(Tensor::Scalar(op.Float("alpha", 0.2f)));
  const Output offset = op.Literal(Tensor::Scalar(op.Float("beta", 0.5f)));
  const Output line = views.Add("AddV2", {views.Add("Mul", {view.held, slope}), offset});
  op.Give(views.Like(view, views.Add("ClipByValue", {line}, {{"min", 0.0f}, {"max", 1.0f}})));
}

// The bounds are inputs since opset 11, attributes before.
void ClipOp(OpReader& op) {
  const float min = op.Has(1) ? op.FloatAt(1, "min") : op.Float("min", -kMost);
  const float max = op.Has(2) ? op.FloatAt(2, "max") : op.Float("max", kMost);
  Clip(op, min, max);
}

void Softmax(OpReader& op) {
  const auto rank = static_cast<int>(op.Dims(0).size());
  const bool flattens = op.opset() < 13;
  const int64_t axis = op.Axis(op.Int("axis", flattens ? 1 : -1), rank);
  if (flattens && axis != rank - 1) {
    // One softmax over all dimensions from the axis on.
    const View view = op.In(0);
    int64_t rows = 1;
    for (int64_t d = 0; d < axis; ++d) rows *= view.shape[static_cast<int>(d)];
    const View matrix = op.views().Reshape(op.views().Plain(op.views().Plainly(view)),
                                           Shape{rows, view.shape.Elements() / rows});
    const Output held = op.views().Add("Softmax", {op.views().Plainly(matrix)});
    return op.Give(op.views().Reshape(op.views().Plain(held), view.shape));
  }
  SoftmaxOver(op, axis);
}

void Dropout(OpReader& op) {
  if (op.Has(2) && op.IsConstant(2) && op.FloatAt(2, "training_mode") != 0) {
    op.Fail("training_mode is true", "inference");
  }
  PassOn(op);
}

void Add(OpReader& op) { BinaryElementwise(op, "AddV2", "Add"); }
void Sub(OpReader& op) { BinaryElementwise(op, "Sub", "Sub"); }
void Mul(OpReader& op) { BinaryElementwise(op, "Mul", "Mul"); }
void Div(OpReader& op) { BinaryElementwise(op, "RealDiv", "Div"); }

void Sum(OpReader& op) {
  if (op.InputCount() == 1) return PassOn(op);
  BinaryElementwise(op, "AddV2", "Add");
}

void Sqrt(OpReader& op) {
  if (op.AllConstant()) return FoldUnary(op, "Sqrt");
  Elementwise(op, "Sqrt");
}

// Takes, of values of the graph, the powers that layer norms are written with.
void Pow(OpReader& op) {
  if (op.AllConstant()) return FoldBinary(op, "Pow");
  const float exponent = op.FloatAt(1, "exponent");
  if (exponent == 1) return PassOn(op);
  if (exponent == 0.5f) return Elementwise(op, "Sqrt");
  if (exponent != 2) {
    op.Fail("raises to the power of " + std::to_string(exponent),
            "0.5, 1 and 2 where the values are not known from the file alone");
  }
  const View view = op.In(0);
  op.Give(op.views().Like(view, op.views().Add("Mul", {view.held, view.held})));
}

// x * (1 + erf(x / sqrt(2))) / 2, from opset 20 on one op.
void Gelu(OpReader& op) {
  const std::string approximate = op.Text("approximate", "none");
  if (approximate != "none") op.Fail("approximate is \"" + approximate + "\"", "none");
  const View view = op.In(0);
  ViewBuilder& views = op.views();
  const Output root = op.Literal(Tensor::Scalar(std::numbers::sqrt2_v<float>));
  const Output erf = views.Add("Erf", {views.Add("RealDiv", {view.held, root})});
  const Output sum = views.Add("AddV2", {erf, op.Literal(Tensor::Scalar(1))});
  const Output product = views.Add("Mul", {view.held, sum});
  op.Give(views.Like(view, views.Add("Mul", {product, op.Literal(Tensor::Scalar(0.5f))})));
}

void LayerNormalization(OpReader& op) {
  const int64_t axis = op.Axis(op.Int("axis", -1), static_cast<int>(op.Dims(0).size()));
  LayerNormalize(op, axis, op.Float("epsilon", 1e-5f));
}

// These ops are here only as far as they work out constants.
void FoldTwo(OpReader& op) {
  op.ConstantAt(0, "a");
  op.ConstantAt(1, "b");
  FoldBinary(op, op.node().op);
}
void FoldOne(OpReader& op) { FoldUnary(op, op.node().op); }

}  // namespace

OpTable OnnxElementwiseOps() {
  OpTable table = {{"Relu", Relu},
                   {"Sigmoid", Sigmoid},
                   {"HardSwish", HardSwish},
                   {"HardSigmoid", HardSigmoid},
                   {"Clip", ClipOp},
                   {"Softmax", Softmax},
                   {"Dropout", Dropout},
                   {"Identity", [](OpReader& op) { PassOn(op); }},
                   {"Add", Add},
                   {"Sub", Sub},
                   {"Mul", Mul},
                   {"Div", Div},
                   {"Sum", Sum},
                   {"Sqrt", Sqrt},
                   {"Pow", Pow},
                   {"Erf", [](OpReader& op) { Elementwise(op, "Erf"); }},
                   {"Gelu", Gelu},
                   {"LayerNormalization", LayerNormalization}};
  for (const char* name : {"Min", "Max", "Mod", "Equal", "Less", "Greater"}) {
    table[name] = FoldTwo;
  }
  for (const char* name : {"Neg", "Abs", "Floor", "Ceil", "Exp"}) table[name] = FoldOne;
  return table;
}

}  // namespace cosched
