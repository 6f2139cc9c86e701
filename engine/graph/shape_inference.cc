#include "engine/graph/shape_inference.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/base/error.h"

namespace cosched {
namespace {

const char* Name(DataType type) { return type == DataType::kFloat ? "float" : "int32"; }

}  // namespace

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
  int64_t elements = 1;
  for (int64_t size : shape.Sizes()) {
    if (size < 1) Fail(name + " " + shape.ToString() + " has a size below 1");
    if (elements > std::numeric_limits<int32_t>::max() / size) {
      Fail(name + " " + shape.ToString() + " is too large", "at most 2^31 - 1 elements");
    }
    elements *= size;
  }
  return shape;
}

void Inference::RequireType(int input, DataType type) const {
  if (Info(input).type != type) {
    Fail("input " + std::to_string(input) + " is " + Name(Info(input).type), Name(type));
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

struct Pair {
  int64_t height;
  int64_t width;
};

Pair PairOf(const Inference& node, const std::string& name) {
  const std::vector<int64_t>& sizes = node.Ints(name);
  if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 1) {
    node.Fail(name + " is " + Shape(sizes).ToString(), "{height, width}, both at least 1");
  }
  return {sizes[0], sizes[1]};
}

// How many windows fit along one dimension (TF's rule).
int64_t Windows(const Inference& node, int64_t size, int64_t window, int64_t stride) {
  const std::string& padding = node.String("padding");
  if (padding == "SAME") return (size + stride - 1) / stride;
  if (padding != "VALID") node.Fail("padding is \"" + padding + "\"", "\"SAME\" or \"VALID\"");
  if (size < window) {
    node.Fail("a window of " + std::to_string(window) + " does not fit into " +
              std::to_string(size) + " with padding VALID");
  }
  return (size - window) / stride + 1;
}

Shape ConvolutionOutput(const Inference& node, const Shape& image, const Shape& filter) {
  if (image.Rank() != 4 || filter.Rank() != 4 || image[3] != filter[2]) {
    node.Fail("image " + image.ToString() + " does not fit filter " + filter.ToString(),
              "image [N,H,W,C] and filter [R,S,C,K]");
  }
  const Pair strides = PairOf(node, "strides");
  return {image[0], Windows(node, image[1], filter[0], strides.height),
          Windows(node, image[2], filter[1], strides.width), filter[3]};
}

Shape PoolOutput(const Inference& node, const Shape& image) {
  if (image.Rank() != 4) node.Fail("input has shape " + image.ToString(), "[N,H,W,C]");
  const Pair window = PairOf(node, "ksize");
  const Pair strides = PairOf(node, "strides");
  return {image[0], Windows(node, image[1], window.height, strides.height),
          Windows(node, image[2], window.width, strides.width), image[3]};
}

Shape MeanOutput(const Inference& node, const Shape& shape) {
  const std::vector<int64_t>& axes = node.Ints("axes");
  if (shape.Rank() == 4 && axes == std::vector<int64_t>{1, 2}) return {shape[0], shape[3]};
  std::vector<int64_t> all(static_cast<size_t>(shape.Rank()));
  std::iota(all.begin(), all.end(), 0);
  if (axes != all) {
    node.Fail("axes are " + Shape(axes).ToString() + " for shape " + shape.ToString(),
              "[1,2] of an image, or all axes in order");
  }
  return {};
}

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

Outputs Reshape(const Inference& node) {
  std::vector<int64_t> sizes = node.Ints("shape");
  const std::string wanted = Shape(sizes).ToString();
  const int64_t elements = node.In(0).Elements();
  int64_t known = 1;
  for (int64_t size : sizes) known *= size == -1 ? 1 : size;
  const auto open = std::find(sizes.begin(), sizes.end(), -1);
  if (open != sizes.end() && known > 0) *open = elements / known;
  const bool fits = std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s > 0; }) &&
                    Shape(sizes).Elements() == elements;
  if (!fits) {
    node.Fail("cannot reshape " + node.In(0).ToString() + " to " + wanted,
              std::to_string(elements) + " elements, at most one size -1");
  }
  return One(Shape(sizes), node.Info(0).type);
}

Outputs NoOp(const Inference&) { return {}; }

Outputs Conv2D(const Inference& node) {
  return One(ConvolutionOutput(node, node.In(0), node.In(1)));
}

Outputs Conv2DBackpropInput(const Inference& node) {
  const Shape image = node.ShapeOf("input_shape");
  node.RequireShape(1, ConvolutionOutput(node, image, node.In(0)));
  return One(image);
}

Outputs Conv2DBackpropFilter(const Inference& node) {
  const Shape filter = node.ShapeOf("filter_shape");
  node.RequireShape(1, ConvolutionOutput(node, node.In(0), filter));
  return One(filter);
}

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

Outputs Pool(const Inference& node) { return One(PoolOutput(node, node.In(0))); }

Outputs MaxPoolGrad(const Inference& node) {
  const Shape output = PoolOutput(node, node.In(0));
  node.RequireShape(1, output);
  node.RequireShape(2, output);
  return One(node.In(0));
}

Outputs AvgPoolGrad(const Inference& node) {
  const Shape image = node.ShapeOf("input_shape");
  node.RequireShape(0, PoolOutput(node, image));
  return One(image);
}

Outputs Mean(const Inference& node) { return One(MeanOutput(node, node.In(0))); }

Outputs MeanGrad(const Inference& node) {
  const Shape input = node.ShapeOf("input_shape");
  node.RequireShape(0, MeanOutput(node, input));
  return One(input);
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

Outputs Mul(const Inference& node) {
  if (node.In(1).Rank() != 0) node.RequireShape(1, node.In(0));
  return One(node.In(0));
}

Outputs Softmax(const Inference& node) {
  node.RequireRank(0, 2);
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
