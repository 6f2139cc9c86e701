#pragma once
// Ops on each element by itself, as loops over the definition; among them the two that update
// variables.

#include <cstdint>
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

template <typename Scalar>
void Mul(int64_t elements, const Scalar* a, const Scalar* b, bool b_is_scalar, Scalar* product) {
  for (int64_t i = 0; i < elements; ++i) product[i] = a[i] * b[b_is_scalar ? 0 : i];
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
