#pragma once
// Ops over matrices, as loops over the definition: products and biases.

#include <algorithm>
#include <cstdint>

#include "engine/kernels/parameters.h"

namespace cosched::reference {

// result[m,n] = sum over k of a[m,k] * b[k,n]; a transposed operand is stored [k,m] or [n,k].
template <typename Scalar>
void MatMul(const MatMulParameters& p, const Scalar* a, const Scalar* b, Scalar* result) {
  for (int64_t row = 0; row < p.m; ++row)
    for (int64_t column = 0; column < p.n; ++column) {
      Scalar sum{0};
      for (int64_t i = 0; i < p.k; ++i)
        sum += a[p.transpose_a ? i * p.m + row : row * p.k + i] *
               b[p.transpose_b ? column * p.k + i : i * p.n + column];
      result[row * p.n + column] = sum;
    }
}

template <typename Scalar>
void BiasAdd(const Matrix& p, const Scalar* x, const Scalar* bias, Scalar* y) {
  for (int64_t row = 0; row < p.rows; ++row)
    for (int64_t c = 0; c < p.channels; ++c)
      y[row * p.channels + c] = x[row * p.channels + c] + bias[c];
}

template <typename Scalar>
void BiasAddGrad(const Matrix& p, const Scalar* dy, Scalar* dbias) {
  std::fill_n(dbias, p.channels, Scalar{0});
  for (int64_t row = 0; row < p.rows; ++row)
    for (int64_t c = 0; c < p.channels; ++c) dbias[c] += dy[row * p.channels + c];
}

}  // namespace cosched::reference
