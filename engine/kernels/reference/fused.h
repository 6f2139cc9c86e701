#pragma once
// What fused nodes do to each element after their convolution, product or scaling, as loops over
// the definition.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/kernels/parameters.h"

namespace cosched::reference {

inline float Activate(const Activation& activation, float x) {
  switch (activation.kind) {
    case Activation::kNone: return x;
    case Activation::kRelu: return std::max(x, 0.0f);
    case Activation::kClip: return std::clamp(x, activation.min, activation.max);
    case Activation::kSigmoid: return 1 / (1 + std::exp(-x));
    case Activation::kHardSwish: return x * std::clamp(x / 6 + 0.5f, 0.0f, 1.0f);
    case Activation::kGelu: return x * (1 + std::erf(x / std::numbers::sqrt2_v<float>)) / 2;
  }
  return x;
}

// y = activation(y + bias [+ residual]); residual may be null.
inline void Finish(const Matrix& p, const Activation& activation, const float* bias,
                   const float* residual, float* y) {
  for (int64_t row = 0; row < p.rows; ++row)
    for (int64_t c = 0; c < p.channels; ++c) {
      const int64_t at = row * p.channels + c;
      y[at] = Activate(activation, y[at] + bias[c] + (residual == nullptr ? 0 : residual[at]));
    }
}

// y = activation(x * factor + offset).
inline void Scale(const Matrix& p, const Activation& activation, const float* x,
                  const float* factor, const float* offset, float* y) {
  for (int64_t row = 0; row < p.rows; ++row)
    for (int64_t c = 0; c < p.channels; ++c) {
      const int64_t at = row * p.channels + c;
      y[at] = Activate(activation, x[at] * factor[c] + offset[c]);
    }
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + offset, row by row.
inline void LayerNorm(const LayerNormParameters& p, const float* x, const float* scale,
                      const float* offset, float* y) {
  const int64_t channels = p.matrix.channels;
  for (int64_t row = 0; row < p.matrix.rows; ++row, x += channels, y += channels) {
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < channels; ++c) mean += x[c];
    mean /= static_cast<double>(channels);
    for (int64_t c = 0; c < channels; ++c) variance += (x[c] - mean) * (x[c] - mean);
    variance /= static_cast<double>(channels);
    const double deviation = std::sqrt(variance + static_cast<double>(p.epsilon));
    for (int64_t c = 0; c < channels; ++c)
      y[c] = static_cast<float>((x[c] - mean) / deviation * scale[c] + offset[c]);
  }
}

}  // namespace cosched::reference
