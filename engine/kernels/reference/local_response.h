#pragma once
// Local response normalisation (Krizhevsky et al. 2012, with TF's meaning of alpha: it is not
// divided by the number of channels in the sum), and its gradient.

#include <algorithm>
#include <cmath>

#include "engine/kernels/parameters.h"

namespace cosched::reference {

// s = bias + alpha * (sum of squares of the channels within the radius of c).
template <typename Scalar>
Scalar LocalSquares(const LocalResponseParameters& p, const Scalar* row, int64_t c) {
  Scalar sum{0};
  for (int64_t i = std::max<int64_t>(c - p.radius, 0);
       i < std::min(c + p.radius + 1, p.matrix.channels); ++i)
    sum += row[i] * row[i];
  return static_cast<Scalar>(p.bias) + static_cast<Scalar>(p.alpha) * sum;
}

template <typename Scalar>
void LocalResponse(const LocalResponseParameters& p, const Scalar* x, Scalar* y) {
  for (int64_t at = 0; at < p.matrix.rows * p.matrix.channels; at += p.matrix.channels)
    for (int64_t c = 0; c < p.matrix.channels; ++c)
      y[at + c] = x[at + c] * std::pow(LocalSquares(p, x + at, c), -static_cast<Scalar>(p.beta));
}

template <typename Scalar>
void LocalResponseGrad(const LocalResponseParameters& p, const Scalar* dy, const Scalar* x,
                       Scalar* dx) {
  const auto alpha = static_cast<Scalar>(p.alpha), beta = static_cast<Scalar>(p.beta);
  for (int64_t at = 0; at < p.matrix.rows * p.matrix.channels; at += p.matrix.channels) {
    std::fill_n(dx + at, p.matrix.channels, Scalar{0});
    for (int64_t c = 0; c < p.matrix.channels; ++c) {
      const Scalar s = LocalSquares(p, x + at, c);
      dx[at + c] += dy[at + c] * std::pow(s, -beta);
      for (int64_t i = std::max<int64_t>(c - p.radius, 0);
           i < std::min(c + p.radius + 1, p.matrix.channels); ++i)
        dx[at + i] -= Scalar{2} * alpha * beta * dy[at + c] * x[at + c] * x[at + i] *
                      std::pow(s, -beta - Scalar{1});
    }
  }
}

}  // namespace cosched::reference
