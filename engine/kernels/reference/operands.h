#pragma once
// Operands of reference kernels; only .cc files of this folder include it.

#include "engine/kernels/kernel.h"

namespace cosched::reference {

inline const float* In(const KernelContext& context, size_t index) {
  return context.inputs[index]->Floats();
}
inline float* Out(KernelContext& context, size_t index) { return context.outputs[index].Floats(); }

inline const Shape& Produced(const KernelSpec& spec) { return spec.node.outputs[0].shape; }

}  // namespace cosched::reference
