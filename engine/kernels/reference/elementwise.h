#pragma once
// Ops on each element by itself, as loops over the definition; among them the two that update
// variables.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>

#include "engine/kernels/parameters.h"

namespace cosched::reference {

template <typename Scalar>
void Relu(int64_t elements, const Scalar* x, Scalar* y) {
  for (int64_t i = 0; i < elements; ++i) y[i] = x[i] > 0 ? x[i] : Scalar{0};
}

template <typename Scalar>
void ReluGrad(int64_t elements, const Scalar* dy, const Scalar* y, Scalar* dx) {
  for (int64_t i = 0; i < elements; ++i) dx[i] = y[i] > 0 ? dy[i] : Scalar{0};
}

template <typename Scalar>
void AddN(int64_t elements, std::span<const Scalar* const> terms, Scalar* sum) {
  for (int64_t i = 0; i < elements; ++i) {
    sum[i] = terms[0][i];
    for (const Scalar* term : terms.subspan(1)) sum[i] += term[i];
  }
}

// min(max(x, least), most); the gradient is taken from y, as ReluGrad's.
template <typename Scalar>
void Clip(int64_t elements, float least, float most, const Scalar* x, Scalar* y) {
  for (int64_t i = 0; i < elements; ++i)
    y[i] = std::min(std::max(x[i], static_cast<Scalar>(least)), static_cast<Scalar>(most));
}

template <typename Scalar>
void ClipGrad(int64_t elements, float least, float most, const Scalar* dy, const Scalar* y,
              Scalar* dx) {
  for (int64_t i = 0; i < elements; ++i)
    dx[i] =
        y[i] > static_cast<Scalar>(least) && y[i] < static_cast<Scalar>(most) ? dy[i] : Scalar{0};
}

template <typename Scalar>
void Sigmoid(int64_t elements, const Scalar* x, Scalar* y) {
  for (int64_t i = 0; i < elements; ++i) y[i] = Scalar{1} / (Scalar{1} + std::exp(-x[i]));
}

template <typename Scalar>
void SigmoidGrad(int64_t elements, const Scalar* dy, const Scalar* y, Scalar* dx) {
  for (int64_t i = 0; i < elements; ++i) dx[i] = dy[i] * y[i] * (Scalar{1} - y[i]);
}

// x * clip(x / 6 + 1/2, 0, 1).
template <typename Scalar>
void HardSwish(int64_t elements, const Scalar* x, Scalar* y) {
  for (int64_t i = 0; i < elements; ++i)
    y[i] = x[i] * std::clamp(x[i] / 6 + Scalar{0.5}, Scalar{0}, Scalar{1});
}

template <typename Scalar>
void HardSwishGrad(int64_t elements, const Scalar* dy, const Scalar* x, Scalar* dx) {
  for (int64_t i = 0; i < elements; ++i) {
    const bool bent = x[i] > -3 && x[i] < 3;
    dx[i] = bent ? dy[i] * (x[i] / 3 + Scalar{0.5}) : x[i] >= 3 ? dy[i] : Scalar{0};
  }
}

template <typename Scalar>
void Sqrt(int64_t elements, const Scalar* x, Scalar* y) {
  for (int64_t i = 0; i < elements; ++i) y[i] = std::sqrt(x[i]);
}

template <typename Scalar>
void Erf(int64_t elements, const Scalar* x, Scalar* y) {
  for (int64_t i = 0; i < elements; ++i) y[i] = std::erf(x[i]);
}

template <typename Scalar>
void ErfGrad(int64_t elements, const Scalar* dy, const Scalar* x, Scalar* dx) {
  constexpr Scalar kAtZero = 2 * std::numbers::inv_sqrtpi_v<Scalar>;
  for (int64_t i = 0; i < elements; ++i) dx[i] = dy[i] * kAtZero * std::exp(-x[i] * x[i]);
}

// x times the share of a normal distribution that lies below it.
template <typename Scalar>
void Gelu(int64_t elements, const Scalar* x, Scalar* y) {
  for (int64_t i = 0; i < elements; ++i)
    y[i] = x[i] * (1 + std::erf(x[i] / std::numbers::sqrt2_v<Scalar>)) / 2;
}

template <typename Scalar>
void AssignMovingAverage(int64_t elements, Scalar decay, const Scalar* value, Scalar* variable) {
  for (int64_t i = 0; i < elements; ++i)
    variable[i] = decay * variable[i] + (Scalar{1} - decay) * value[i];
}

template <typename Scalar>
void ApplyMomentum(int64_t elements, const MomentumParameters& parameters, const Scalar* gradient,
                   Scalar* accumulator, Scalar* variable) {
  for (int64_t i = 0; i < elements; ++i) {
    const Scalar g = gradient[i] + static_cast<Scalar>(parameters.weight_decay) * variable[i];
    accumulator[i] = static_cast<Scalar>(parameters.momentum) * accumulator[i] + g;
    variable[i] -= static_cast<Scalar>(parameters.learning_rate) * accumulator[i];
  }
}

}  // namespace cosched::reference
