#include "engine/graph/op_gradients.h"

#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

#include "engine/graph/shape_inference.h"

namespace cosched {
namespace {

using Attributes = std::map<std::string, Attribute>;
using Ints = std::vector<int64_t>;
using Names = std::initializer_list<const char*>;

// One forward node while its gradient is written: short names for what gradient functions need.
class Differential {
 public:
  explicit Differential(const OpGradientRequest& request)
      : request_(request), result_(request.node.inputs.size()) {}

  const Node& Forward() const { return request_.node; }
  Output In(int i) const { return Forward().inputs[static_cast<size_t>(i)]; }
  Output Out(int i = 0) const { return {Forward().id, i}; }
  const Shape& InShape(int i) const { return request_.graph.Info(In(i)).shape; }
  const Shape& OutShape(int i = 0) const { return request_.graph.Info(Out(i)).shape; }
  bool Needs(int i) const { return request_.needed[static_cast<size_t>(i)]; }
  void Set(int i, Output gradient) { result_[static_cast<size_t>(i)] = gradient; }
  const std::vector<Output>& Result() const { return result_; }

  // d loss / d output 0, the only output through which gradients flow.
  Output Dy() const {
    for (size_t i = 1; i < request_.incoming.size(); ++i) {
      if (request_.incoming[i].node != -1) {
        FailNode(Forward(), "output " + std::to_string(i) + " has no gradient");
      }
    }
    return request_.incoming[0];
  }
  NodeId Add(const std::string& op, std::vector<Output> inputs, Attributes attributes = {}) {
    return request_.graph.Add(op, request_.graph.UniqueName(request_.prefix + op),
                              std::move(inputs), std::move(attributes));
  }
  Output AddOne(const std::string& op, std::vector<Output> inputs, Attributes attributes = {}) {
    return {Add(op, std::move(inputs), std::move(attributes)), 0};
  }
  Output AddScalar(float value) { return AddOne("Const", {}, {{"value", Tensor::Scalar(value)}}); }
  // The forward node's own attributes of these names.
  Attributes Copy(Names names) const {
    Attributes attributes;
    for (const char* name : names) attributes[name] = Forward().attributes.at(name);
    return attributes;
  }
  Attributes CopyWithShape(Names names, const std::string& shape_name, int of_input) const {
    Attributes attributes = Copy(names);
    attributes[shape_name] = InShape(of_input).Sizes();
    return attributes;
  }

 private:
  const OpGradientRequest& request_;
  std::vector<Output> result_;
};

void PassOn(Differential& d) {  // AddN
  for (size_t i = 0; i < d.Forward().inputs.size(); ++i) {
    if (d.Needs(static_cast<int>(i))) d.Set(static_cast<int>(i), d.Dy());
  }
}

void ReshapeGradient(Differential& d) {
  d.Set(0, d.AddOne("Reshape", {d.Dy()}, {{"shape", d.InShape(0).Sizes()}}));
}

// Attributes that windows have, beside their sizes.
constexpr Names kConvolution = {"strides", "padding", "explicit_paddings", "dilations"};
constexpr Names kPool = {"ksize", "strides", "padding", "explicit_paddings"};
constexpr Names kAveragePool = {"ksize", "strides", "padding", "explicit_paddings",
                                "count_padding"};

void Conv2DGradient(Differential& d) {
  if (d.Needs(0)) {
    d.Set(0, d.AddOne("Conv2DBackpropInput", {d.In(1), d.Dy()},
                      d.CopyWithShape(kConvolution, "input_shape", 0)));
  }
  if (d.Needs(1)) {
    d.Set(1, d.AddOne("Conv2DBackpropFilter", {d.In(0), d.Dy()},
                      d.CopyWithShape(kConvolution, "filter_shape", 1)));
  }
}

// The op is linear in both, and the transpose of a convolution: whose image is dy here.
void Conv2DBackpropInputGradient(Differential& d) {
  if (d.Needs(0)) {
    d.Set(0, d.AddOne("Conv2DBackpropFilter", {d.Dy(), d.In(1)},
                      d.CopyWithShape(kConvolution, "filter_shape", 0)));
  }
  if (d.Needs(1)) d.Set(1, d.AddOne("Conv2D", {d.Dy(), d.In(0)}, d.Copy(kConvolution)));
}

void BiasAddGradient(Differential& d) {
  if (d.Needs(0)) d.Set(0, d.Dy());
  if (d.Needs(1)) d.Set(1, d.AddOne("BiasAddGrad", {d.Dy()}));
}

void FusedBatchNormGradient(Differential& d) {
  if (!GetAttribute<bool>(d.Forward(), "is_training")) {
    FailNode(d.Forward(), "has no gradient with is_training false");
  }
  if (!d.Needs(0) && !d.Needs(1) && !d.Needs(2)) return;
  const NodeId gradient = d.Add(
      "FusedBatchNormGradV3", {d.Dy(), d.In(0), d.In(1), d.Out(1), d.Out(2)}, d.Copy({"epsilon"}));
  for (int i = 0; i < 3; ++i) {
    if (d.Needs(i)) d.Set(i, {gradient, i});
  }
}

// Relu, Relu6, Sigmoid.
void ActivationGradient(Differential& d) {
  d.Set(0, d.AddOne(d.Forward().op + "Grad", {d.Dy(), d.Out()}));
}

void HardSwishGradient(Differential& d) { d.Set(0, d.AddOne("HardSwishGrad", {d.Dy(), d.In(0)})); }

// y = sqrt(x): dy/dx = 1 / 2y.
void SqrtGradient(Differential& d) {
  const Output half = d.AddOne("Mul", {d.Dy(), d.AddScalar(0.5f)});
  d.Set(0, d.AddOne("RealDiv", {half, d.Out()}));
}

void ErfGradient(Differential& d) { d.Set(0, d.AddOne("ErfGrad", {d.Dy(), d.In(0)})); }

void ClipGradient(Differential& d) {
  d.Set(0, d.AddOne("ClipByValueGrad", {d.Dy(), d.Out()}, d.Copy({"min", "max"})));
}

void MaxPoolGradient(Differential& d) {
  d.Set(0, d.AddOne("MaxPoolGrad", {d.In(0), d.Out(), d.Dy()}, d.Copy(kPool)));
}

void AvgPoolGradient(Differential& d) {
  d.Set(0, d.AddOne("AvgPoolGrad", {d.Dy()}, d.CopyWithShape(kAveragePool, "input_shape", 0)));
}

void MeanGradient(Differential& d) {
  d.Set(0,
        d.AddOne("MeanGrad", {d.Dy()}, d.CopyWithShape({"axes", "keep_dims"}, "input_shape", 0)));
}

// With A = op(a), B = op(b): dA = dy B^T, dB = A^T dy; transposed where the input was.
void MatMulGradient(Differential& d) {
  const bool ta = GetAttribute<bool>(d.Forward(), "transpose_a");
  const bool tb = GetAttribute<bool>(d.Forward(), "transpose_b");
  const auto product = [&d](Output a, Output b, bool transpose_a, bool transpose_b) {
    return d.AddOne("MatMul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  };
  const Output dy = d.Dy();
  if (d.Needs(0)) {
    d.Set(0, ta ? product(d.In(1), dy, tb, true) : product(dy, d.In(1), false, !tb));
  }
  if (d.Needs(1)) {
    d.Set(1, tb ? product(dy, d.In(0), true, ta) : product(d.In(0), dy, !ta, false));
  }
}

// Sets input i's gradient: the sum of `gradient` over the dimensions along which the input was
// repeated, as the mean times their size.
void SetBroadcast(Differential& d, int i, Output gradient) {
  const Shape &input = d.InShape(i), &output = d.OutShape();
  Ints axes;
  for (int axis = 0; axis < output.Rank(); ++axis) {
    const int of_input = axis - (output.Rank() - input.Rank());
    if (of_input < 0 || input[of_input] != output[axis]) axes.push_back(axis);
  }
  if (axes.empty()) {
    d.Set(i, gradient);
    return;
  }
  const Ints sizes = input.Sizes();
  const auto repeats = static_cast<float>(output.Elements()) / static_cast<float>(input.Elements());
  Output sum = d.AddOne("Mean", {gradient}, {{"axes", axes}});
  sum = d.AddOne("Mul", {sum, d.AddScalar(repeats)});
  d.Set(i, d.AddOne("Reshape", {sum}, {{"shape", sizes}}));
}

void AddGradient(Differential& d) {
  for (int i = 0; i < 2; ++i) {
    if (d.Needs(i)) SetBroadcast(d, i, d.Dy());
  }
}

void SubGradient(Differential& d) {
  if (d.Needs(0)) SetBroadcast(d, 0, d.Dy());
  if (d.Needs(1)) SetBroadcast(d, 1, d.AddOne("Mul", {d.Dy(), d.AddScalar(-1)}));
}

void MulGradient(Differential& d) {
  for (int i = 0; i < 2; ++i) {
    if (d.Needs(i)) SetBroadcast(d, i, d.AddOne("Mul", {d.Dy(), d.In(1 - i)}));
  }
}

// y = a / b: dy/da = 1 / b, dy/db = -y / b.
void RealDivGradient(Differential& d) {
  if (!d.Needs(0) && !d.Needs(1)) return;
  const Output quotient = d.AddOne("RealDiv", {d.Dy(), d.In(1)});
  if (d.Needs(0)) SetBroadcast(d, 0, quotient);
  if (!d.Needs(1)) return;
  const Output product = d.AddOne("Mul", {quotient, d.Out()});
  SetBroadcast(d, 1, d.AddOne("Mul", {product, d.AddScalar(-1)}));
}

void ConcatGradient(Differential& d) {
  const auto axis = static_cast<size_t>(GetAttribute<int64_t>(d.Forward(), "axis"));
  Ints begin(static_cast<size_t>(d.OutShape().Rank()), 0);
  for (int i = 0; i < static_cast<int>(d.Forward().inputs.size()); ++i) {
    const Ints size = d.InShape(i).Sizes();
    if (d.Needs(i)) d.Set(i, d.AddOne("Slice", {d.Dy()}, {{"begin", begin}, {"size", size}}));
    begin[axis] += size[axis];
  }
}

void SliceGradient(Differential& d) {
  const auto& begin = GetAttribute<Ints>(d.Forward(), "begin");
  Ints paddings;
  for (int i = 0; i < d.OutShape().Rank(); ++i) {
    const int64_t before = begin[static_cast<size_t>(i)];
    paddings.push_back(before);
    paddings.push_back(d.InShape(0)[i] - before - d.OutShape()[i]);
  }
  d.Set(0, d.AddOne("Pad", {d.Dy()}, {{"paddings", paddings}}));
}

void PadGradient(Differential& d) {
  const auto& paddings = GetAttribute<Ints>(d.Forward(), "paddings");
  Ints begin;
  for (size_t i = 0; i < paddings.size(); i += 2) begin.push_back(paddings[i]);
  const Ints size = d.InShape(0).Sizes();
  d.Set(0, d.AddOne("Slice", {d.Dy()}, {{"begin", begin}, {"size", size}}));
}

void TransposeGradient(Differential& d) {
  const auto& perm = GetAttribute<Ints>(d.Forward(), "perm");
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  d.Set(0, d.AddOne("Transpose", {d.Dy()}, {{"perm", inverse}}));
}

void LocalResponseGradient(Differential& d) {
  d.Set(0, d.AddOne("LRNGrad", {d.Dy(), d.In(0), d.Out()},
                    d.Copy({"depth_radius", "bias", "alpha", "beta"})));
}

// dlogits = backprop * dloss, dloss [N] repeated over the classes. The outer product with ones
// repeats it exactly.
void SparseSoftmaxCrossEntropyGradient(Differential& d) {
  const Output dloss = d.Dy();
  if (!d.Needs(0)) return;
  const int64_t batch = d.OutShape(1)[0];
  const int64_t classes = d.OutShape(1)[1];
  const std::vector<float> ones(static_cast<size_t>(classes), 1.0f);
  const Output row =
      d.AddOne("Const", {}, {{"value", Tensor::Of({1, classes}, std::span<const float>(ones))}});
  const Output column = d.AddOne("Reshape", {dloss}, {{"shape", Ints{batch, 1}}});
  const Output repeated = d.AddOne("MatMul", {column, row});
  d.Set(0, d.AddOne("Mul", {d.Out(1), repeated}));
}

using GradientFunction = void (*)(Differential&);

const std::map<std::string_view, GradientFunction>& Gradients() {
  static const std::map<std::string_view, GradientFunction> table = {
      {"Reshape", ReshapeGradient},
      {"Conv2D", Conv2DGradient},
      {"Conv2DBackpropInput", Conv2DBackpropInputGradient},
      {"BiasAdd", BiasAddGradient},
      {"FusedBatchNormV3", FusedBatchNormGradient},
      {"Relu", ActivationGradient},
      {"Relu6", ActivationGradient},
      {"Sigmoid", ActivationGradient},
      {"HardSwish", HardSwishGradient},
      {"ClipByValue", ClipGradient},
      {"Sqrt", SqrtGradient},
      {"Erf", ErfGradient},
      {"LRN", LocalResponseGradient},
      {"ConcatV2", ConcatGradient},
      {"Slice", SliceGradient},
      {"Pad", PadGradient},
      {"Transpose", TransposeGradient},
      {"MaxPool", MaxPoolGradient},
      {"AvgPool", AvgPoolGradient},
      {"Mean", MeanGradient},
      {"MatMul", MatMulGradient},
      {"AddV2", AddGradient},
      {"Sub", SubGradient},
      {"Mul", MulGradient},
      {"RealDiv", RealDivGradient},
      {"AddN", PassOn},
      {"SparseSoftmaxCrossEntropyWithLogits", SparseSoftmaxCrossEntropyGradient},
  };
  return table;
}

}  // namespace

std::vector<Output> OpGradients(const OpGradientRequest& request) {
  const auto found = Gradients().find(request.node.op);
  if (found == Gradients().end()) FailNode(request.node, "the op has no gradient");
  Differential differential(request);
  found->second(differential);
  return differential.Result();
}

}  // namespace cosched
