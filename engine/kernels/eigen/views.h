#pragma once
// Views of tensors as Eigen arrays; only .cc files of this folder include it.

#include <Eigen/Core>

#include "engine/kernels/kernel.h"

namespace cosched::eigen {

using ConstArray = Eigen::Map<const Eigen::ArrayXf>;
using Array = Eigen::Map<Eigen::ArrayXf>;

inline const float* In(const KernelContext& context, size_t index) {
  return context.inputs[index]->Floats();
}
inline float* Out(KernelContext& context, size_t index) { return context.outputs[index].Floats(); }

}  // namespace cosched::eigen
