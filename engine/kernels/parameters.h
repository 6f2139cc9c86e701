#pragma once
// What kernels read from a node's attributes and shapes, apart from window geometry (window.h):
// once for both backends. Plain data. REQUIRES everywhere: a node that Graph::Build() has accepted.

#include <cstdint>

#include "engine/graph/node.h"

namespace cosched {

// A tensor as a matrix: the last dimension is the channels, all others together the rows.
struct Matrix {
  int64_t rows = 1, channels = 1;
};
Matrix AsMatrix(const Shape& shape);

// A sum or mean over the middle of [outer, middle, inner], giving [outer, inner].
struct Reduction {
  int64_t outer = 1, middle = 1, inner = 1;
};
// Over height and width of an image, or (1, all, 1) over all elements.
Reduction ReadMean(const Node& node, const Shape& input);

struct MatMulParameters {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};
MatMulParameters ReadMatMul(const Node& node, const Shape& a, const Shape& b);

struct MomentumParameters {
  float learning_rate = 0, momentum = 0, weight_decay = 0;
};
MomentumParameters ReadMomentum(const Node& node);

}  // namespace cosched
