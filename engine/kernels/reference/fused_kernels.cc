// The fused ops' naive loops as kernels: the ops they are made of, one after the other.

#include "engine/kernels/factories.h"
#include "engine/kernels/reference/convolution.h"
#include "engine/kernels/reference/dense.h"
#include "engine/kernels/reference/fused.h"

namespace cosched::reference {
namespace {

const float* InputOf(const KernelContext& context, size_t index) {
  return context.inputs[index]->Floats();
}

}  // namespace

std::unique_ptr<Kernel> MakeFusedConv2D(const KernelSpec& spec) {
  const Window w = ConvolutionWindow(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  const Matrix matrix = AsMatrix(spec.node.outputs[0].shape);
  const bool has_residual = spec.inputs.size() > 3;
  return KernelFrom([=, activation = ReadActivation(spec.node)](KernelContext& c) {
    float* y = c.outputs[0].Floats();
    Conv2D(w, InputOf(c, 0), InputOf(c, 1), y);
    Finish(matrix, activation, InputOf(c, 2), has_residual ? InputOf(c, 3) : nullptr, y);
  });
}

std::unique_ptr<Kernel> MakeFusedMatMul(const KernelSpec& spec) {
  const MatMulParameters p = ReadMatMul(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  return KernelFrom([=, activation = ReadActivation(spec.node)](KernelContext& c) {
    float* y = c.outputs[0].Floats();
    MatMul(p, InputOf(c, 0), InputOf(c, 1), y);
    Finish({p.m, p.n}, activation, InputOf(c, 2), nullptr, y);
  });
}

std::unique_ptr<Kernel> MakeFusedScale(const KernelSpec& spec) {
  const Matrix matrix = AsMatrix(spec.inputs[0].shape);
  return KernelFrom([=, activation = ReadActivation(spec.node)](KernelContext& c) {
    Scale(matrix, activation, InputOf(c, 0), InputOf(c, 1), InputOf(c, 2), c.outputs[0].Floats());
  });
}

std::unique_ptr<Kernel> MakeFusedLayerNorm(const KernelSpec& spec) {
  return KernelFrom([p = ReadLayerNorm(spec.node, spec.inputs[0].shape)](KernelContext& c) {
    LayerNorm(p, InputOf(c, 0), InputOf(c, 1), InputOf(c, 2), c.outputs[0].Floats());
  });
}

}  // namespace cosched::reference
