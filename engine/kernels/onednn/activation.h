#pragma once
// The activation of a fused node as a post-op of its primitive. Only fused kernels of this folder
// include it.

#include "engine/kernels/onednn/primitive.h"
#include "engine/kernels/parameters.h"

namespace cosched::onednn {

inline void AppendActivation(const Activation& activation, dnnl::post_ops* post_ops) {
  using dnnl::algorithm;
  switch (activation.kind) {
    case Activation::kNone: break;
    case Activation::kRelu: post_ops->append_eltwise(algorithm::eltwise_relu, 0, 0); break;
    case Activation::kClip:
      post_ops->append_eltwise(algorithm::eltwise_clip_v2, activation.min, activation.max);
      break;
    case Activation::kSigmoid: post_ops->append_eltwise(algorithm::eltwise_logistic, 0, 0); break;
    case Activation::kHardSwish:
      post_ops->append_eltwise(algorithm::eltwise_hardswish, 1.0f / 6, 0.5f);
      break;
    case Activation::kGelu: post_ops->append_eltwise(algorithm::eltwise_gelu_erf, 0, 0); break;
  }
}

}  // namespace cosched::onednn
