#pragma once
// Batch normalisation over the rows of x [rows, channels] (an NHWC image with N, H and W taken
// together).

#include <cmath>

#include "engine/kernels/parameters.h"

namespace cosched::reference {

// y from the statistics given.
template <typename Scalar>
void BatchNormInference(const Matrix& p, Scalar epsilon, const Scalar* x, const Scalar* scale,
                        const Scalar* offset, const Scalar* mean, const Scalar* variance,
                        Scalar* y) {
  for (int64_t row = 0; row < p.rows; ++row)
    for (int64_t c = 0; c < p.channels; ++c) {
      const int64_t i = row * p.channels + c;
      y[i] = (x[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + offset[c];
    }
}

// Mean and population variance of each channel.
template <typename Scalar>
void BatchStatistics(const Matrix& p, const Scalar* x, Scalar* mean, Scalar* variance) {
  const Scalar count = static_cast<Scalar>(p.rows);
  for (int64_t c = 0; c < p.channels; ++c) {
    Scalar sum{0}, squares{0};
    for (int64_t row = 0; row < p.rows; ++row) sum += x[row * p.channels + c];
    mean[c] = sum / count;
    for (int64_t row = 0; row < p.rows; ++row) {
      const Scalar distance = x[row * p.channels + c] - mean[c];
      squares += distance * distance;
    }
    variance[c] = squares / count;
  }
}

// Gradient through y and through the batch statistics.
template <typename Scalar>
void BatchNormGrad(const Matrix& p, Scalar epsilon, const Scalar* dy, const Scalar* x,
                   const Scalar* scale, const Scalar* mean, const Scalar* variance, Scalar* dx,
                   Scalar* dscale, Scalar* doffset) {
  const Scalar count = static_cast<Scalar>(p.rows);
  for (int64_t c = 0; c < p.channels; ++c) {
    const Scalar inverse = Scalar{1} / std::sqrt(variance[c] + epsilon);
    Scalar sum{0}, product{0};
    for (int64_t row = 0; row < p.rows; ++row) {
      const int64_t i = row * p.channels + c;
      sum += dy[i];
      product += dy[i] * (x[i] - mean[c]) * inverse;
    }
    doffset[c] = sum;
    dscale[c] = product;
    for (int64_t row = 0; row < p.rows; ++row) {
      const int64_t i = row * p.channels + c;
      const Scalar normalised = (x[i] - mean[c]) * inverse;
      dx[i] = scale[c] * inverse * (dy[i] - sum / count - normalised * product / count);
    }
  }
}

}  // namespace cosched::reference
