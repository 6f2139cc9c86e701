#pragma once
// What kernels read from a node's attributes and shapes, apart from window geometry (window.h):
// once for both backends. Plain data. REQUIRES everywhere: a node that Graph::Build() has accepted.

#include <cstdint>
#include <optional>

#include "engine/graph/node.h"

namespace cosched {

// A tensor as a matrix: the last dimension is the channels, all others together the rows.
struct Matrix {
  int64_t rows = 1, channels = 1;
};
Matrix AsMatrix(const Shape& shape);

// A mean over some dimensions.
struct Reduction {
  Shape input;
  Shape kept;  // The input's, with 1 for every dimension that the mean is over.

  int64_t Count() const { return input.Elements() / kept.Elements(); }
};
Reduction ReadMean(const Node& node, const Shape& input);

// A reduction over the middle of [outer, middle, inner], giving [outer, inner].
struct MiddleReduction {
  int64_t outer = 1, middle = 1, inner = 1;
};
// None if dimensions that are reduced and such that are not take turns.
std::optional<MiddleReduction> AsMiddle(const Reduction& reduction);

// The same shape with dimensions of size 1 put before it.
Shape WithRank(const Shape& shape, int rank);

// Local response normalisation over the channels of a matrix.
struct LocalResponseParameters {
  Matrix matrix;
  int64_t radius = 0;
  float bias = 1, alpha = 1, beta = 0.5f;
};
LocalResponseParameters ReadLocalResponse(const Node& node, const Shape& input);

struct MatMulParameters {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};
MatMulParameters ReadMatMul(const Node& node, const Shape& a, const Shape& b);

struct MomentumParameters {
  float learning_rate = 0, momentum = 0, weight_decay = 0;
};
MomentumParameters ReadMomentum(const Node& node);

struct LayerNormParameters {
  Matrix matrix;  // Each row by itself.
  float epsilon = 0;
};
LayerNormParameters ReadLayerNorm(const Node& node, const Shape& input);

// A fused node's activation.
struct Activation {
  enum Kind { kNone, kRelu, kClip, kSigmoid, kHardSwish, kGelu };
  Kind kind = kNone;
  float min = 0, max = 0;  // The bounds of kClip, which Relu6 is, too.
};
Activation ReadActivation(const Node& node);

}  // namespace cosched
