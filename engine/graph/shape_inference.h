#pragma once
// Shape inference of every op, and the errors it raises: of convolutions and pools in
// window_inference.cc, of ops that move or join elements in array_inference.cc, of all others in
// shape_inference.cc. Used by the op table only (ops.cc).

#include <string>
#include <vector>

#include "engine/graph/node.h"

namespace cosched {

// What a shape function sees of one node: its attributes (already checked for presence and kind)
// and its inputs.
class Inference {
 public:
  Inference(const Node& node, std::vector<OutputInfo> inputs)
      : node_(node), inputs_(std::move(inputs)) {}

  int Inputs() const { return static_cast<int>(inputs_.size()); }
  const OutputInfo& Info(int input) const { return inputs_[static_cast<size_t>(input)]; }
  const Shape& In(int input) const { return Info(input).shape; }
  int64_t Int(const std::string& name) const;
  const std::vector<int64_t>& Ints(const std::string& name) const;
  float Float(const std::string& name) const;
  bool Bool(const std::string& name) const;
  const std::string& String(const std::string& name) const;
  const Tensor& TensorOf(const std::string& name) const;
  Shape ShapeOf(const std::string& name) const;  // An attribute of positive sizes.

  // Each throws InputError naming the node unless the input is so.
  void RequireType(int input, DataType type) const;
  void RequireRank(int input, int rank) const;
  void RequireShape(int input, const Shape& shape) const;
  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed = "") const;

 private:
  const Node& node_;
  std::vector<OutputInfo> inputs_;
};

// The error for this node, for checks outside of shape functions.
[[noreturn]] void FailNode(const Node& node, const std::string& problem,
                           const std::string& allowed = "");

namespace infer {

using Outputs = std::vector<OutputInfo>;

Outputs Placeholder(const Inference& node);
Outputs Const(const Inference& node);
Outputs Variable(const Inference& node);
Outputs NoOp(const Inference& node);
Outputs BiasAdd(const Inference& node);
Outputs BiasAddGrad(const Inference& node);
Outputs FusedBatchNorm(const Inference& node);
Outputs FusedBatchNormGrad(const Inference& node);
Outputs AssignMovingAverage(const Inference& node);
Outputs SameShapes(const Inference& node);  // Relu, ReluGrad, AddN, …: all alike.
Outputs ClipByValue(const Inference& node);
Outputs LocalResponse(const Inference& node);
Outputs MatMul(const Inference& node);
Outputs Softmax(const Inference& node);
Outputs SparseSoftmaxCrossEntropy(const Inference& node);
Outputs ApplyMomentum(const Inference& node);

Outputs Cast(const Inference& node);

Outputs Conv2D(const Inference& node);
Outputs Conv2DBackpropInput(const Inference& node);
Outputs Conv2DBackpropFilter(const Inference& node);
Outputs Pool(const Inference& node);
Outputs MaxPoolGrad(const Inference& node);
Outputs AvgPoolGrad(const Inference& node);

Outputs FusedConv2D(const Inference& node);
Outputs FusedMatMul(const Inference& node);
Outputs FusedScale(const Inference& node);
Outputs FusedLayerNorm(const Inference& node);

Outputs Reshape(const Inference& node);
Outputs Concat(const Inference& node);
Outputs Slice(const Inference& node);
Outputs Pad(const Inference& node);
Outputs Transpose(const Inference& node);
Outputs Broadcast(const Inference& node);  // AddV2, Sub, Mul, RealDiv.
Outputs Mean(const Inference& node);
Outputs MeanGrad(const Inference& node);

}  // namespace infer
}  // namespace cosched
