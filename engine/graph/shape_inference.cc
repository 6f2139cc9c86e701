#include "engine/graph/shape_inference.h"

#include <utility>

#include "engine/base/error.h"

namespace cosched {
void FailNode(const Node& node, const std::string& problem, const std::string& allowed) {
  InputErrorDetails details;
  details.key = "node \"" + node.name + "\" (" + node.op + ")";
  details.problem = problem;
  details.allowed = allowed;
  throw InputError(std::move(details));
}

void Inference::Fail(const std::string& problem, const std::string& allowed) const {
  FailNode(node_, problem, allowed);
}

int64_t Inference::Int(const std::string& name) const { return GetAttribute<int64_t>(node_, name); }

float Inference::Float(const std::string& name) const { return GetAttribute<float>(node_, name); }

const std::vector<int64_t>& Inference::Ints(const std::string& name) const {
  return GetAttribute<std::vector<int64_t>>(node_, name);
}

bool Inference::Bool(const std::string& name) const { return GetAttribute<bool>(node_, name); }

const std::string& Inference::String(const std::string& name) const {
  return GetAttribute<std::string>(node_, name);
}

const Tensor& Inference::TensorOf(const std::string& name) const {
  const Tensor& tensor = GetAttribute<Tensor>(node_, name);
  if (tensor.IsEmpty()) Fail(name + " is an empty tensor");
  return tensor;
}

Shape Inference::ShapeOf(const std::string& name) const {
  Shape shape(Ints(name));
  for (int64_t size : shape.Sizes()) {
    if (size < 1) Fail(name + " " + shape.ToString() + " has a size below 1");
  }
  if (shape.Elements() > kMaxElements)
    Fail(name + " " + shape.ToString() + " is too large", "at most 2^40 elements");
  return shape;
}

void Inference::RequireType(int input, DataType type) const {
  if (Info(input).type != type) {
    Fail("input " + std::to_string(input) + " is " + NameOf(Info(input).type), NameOf(type));
  }
}

void Inference::RequireRank(int input, int rank) const {
  if (In(input).Rank() != rank) {
    Fail("input " + std::to_string(input) + " has shape " + In(input).ToString(),
         std::to_string(rank) + " dimensions");
  }
}

void Inference::RequireShape(int input, const Shape& shape) const {
  if (In(input) != shape) {
    Fail("input " + std::to_string(input) + " has shape " + In(input).ToString(), shape.ToString());
  }
}

namespace infer {
namespace {

Outputs One(Shape shape, DataType type = DataType::kFloat) { return {{std::move(shape), type}}; }

Shape Channels(const Inference& node, int input) {
  if (node.In(input).Rank() < 1) node.Fail("input " + std::to_string(input) + " is a scalar");
  return {node.In(input)[node.In(input).Rank() - 1]};
}

}  // namespace

Outputs Placeholder(const Inference& node) {
  const std::string& type = node.String("dtype");
  if (type != "float" && type != "int32") {
    node.Fail("dtype is \"" + type + "\"", "\"float\" or \"int32\"");
  }
  return One(node.ShapeOf("shape"), type == "float" ? DataType::kFloat : DataType::kInt32);
}

Outputs Const(const Inference& node) {
  const Tensor& value = node.TensorOf("value");
  return One(value.GetShape(), value.Type());
}

Outputs Variable(const Inference& node) {
  const Tensor& initial = node.TensorOf("initial");
  return One(initial.GetShape(), initial.Type());
}

Outputs NoOp(const Inference&) { return {}; }

Outputs BiasAdd(const Inference& node) {
  node.RequireShape(1, Channels(node, 0));
  return One(node.In(0));
}

Outputs BiasAddGrad(const Inference& node) { return One(Channels(node, 0)); }

Outputs FusedBatchNorm(const Inference& node) {
  node.RequireRank(0, 4);
  const Shape channels = Channels(node, 0);
  for (int input = 1; input < 5; ++input) node.RequireShape(input, channels);
  return {{node.In(0)}, {channels}, {channels}};
}

Outputs FusedBatchNormGrad(const Inference& node) {
  node.RequireRank(1, 4);
  node.RequireShape(0, node.In(1));
  const Shape channels = Channels(node, 1);
  for (int input = 2; input < 5; ++input) node.RequireShape(input, channels);
  return {{node.In(1)}, {channels}, {channels}};
}

Outputs AssignMovingAverage(const Inference& node) {
  node.RequireShape(1, node.In(0));
  return One(node.In(0));
}

Outputs MatMul(const Inference& node) {
  node.RequireRank(0, 2);
  node.RequireRank(1, 2);
  const bool transpose_a = node.Bool("transpose_a");
  const bool transpose_b = node.Bool("transpose_b");
  if (node.In(0)[transpose_a ? 0 : 1] != node.In(1)[transpose_b ? 1 : 0]) {
    node.Fail("inner sizes differ: " + node.In(0).ToString() + (transpose_a ? "^T" : "") + " x " +
              node.In(1).ToString() + (transpose_b ? "^T" : ""));
  }
  return One({node.In(0)[transpose_a ? 1 : 0], node.In(1)[transpose_b ? 0 : 1]});
}

Outputs SameShapes(const Inference& node) {
  for (int input = 1; input < node.Inputs(); ++input) node.RequireShape(input, node.In(0));
  return One(node.In(0));
}

Outputs Cast(const Inference& node) {
  const std::string& type = node.String("dtype");
  for (DataType to : {DataType::kFloat, DataType::kBFloat16}) {
    if (type == NameOf(to)) return One(node.In(0), to);
  }
  node.Fail("dtype is \"" + type + "\"", "\"float\" or \"bfloat16\"");
}

Outputs ClipByValue(const Inference& node) {
  const float least = node.Float("min"), most = node.Float("max");
  if (!(least <= most)) {
    node.Fail("min is " + std::to_string(least) + ", max " + std::to_string(most),
              "a minimum that is not above the maximum");
  }
  return SameShapes(node);
}

Outputs LocalResponse(const Inference& node) {
  node.RequireRank(0, 4);
  const int64_t radius = node.Int("depth_radius");
  if (radius < 0 || radius > kMaxElements)
    node.Fail("depth_radius is " + std::to_string(radius), "0 or more");
  return SameShapes(node);
}

Outputs Softmax(const Inference& node) {
  Channels(node, 0);
  return One(node.In(0));
}

Outputs SparseSoftmaxCrossEntropy(const Inference& node) {
  node.RequireRank(0, 2);
  node.RequireType(1, DataType::kInt32);
  const Shape batch{node.In(0)[0]};
  node.RequireShape(1, batch);
  return {{batch}, {node.In(0)}};
}

Outputs ApplyMomentum(const Inference& node) {
  node.RequireShape(1, node.In(0));
  node.RequireShape(2, node.In(0));
  return One(node.In(0));
}

}  // namespace infer
}  // namespace cosched
