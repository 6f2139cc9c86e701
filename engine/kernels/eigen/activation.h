#pragma once
// The activation of a fused node, on a part of its output. Only fused kernels of this folder
// include it.

#include <numbers>
#include <unsupported/Eigen/SpecialFunctions>

#include "engine/kernels/eigen/views.h"
#include "engine/kernels/parameters.h"

namespace cosched::eigen {

// y: an array of floats, or a view of them.
template <typename Floats>
void Activate(const Activation& activation, Floats&& y) {
  switch (activation.kind) {
    case Activation::kNone: break;
    case Activation::kRelu: y = y.max(0.0f); break;
    case Activation::kClip: y = y.max(activation.min).min(activation.max); break;
    case Activation::kSigmoid: y = 1.0f / (1.0f + (-y).exp()); break;
    case Activation::kHardSwish: y *= (y / 6.0f + 0.5f).max(0.0f).min(1.0f); break;
    case Activation::kGelu:
      y *= 0.5f * (1.0f + (y * (1 / std::numbers::sqrt2_v<float>)).erf());
      break;
  }
}

}  // namespace cosched::eigen
