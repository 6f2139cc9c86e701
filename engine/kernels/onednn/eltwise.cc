// Activations and their gradients, and Cast, over the flat buffer.

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/primitive.h"

namespace cosched::onednn {
namespace {

using dnnl::algorithm;

// What oneDNN calls alpha and beta.
struct Coefficients {
  float alpha = 0, beta = 0;
};

constexpr Coefficients kSix{0, 6}, kHardSwish{1.0f / 6, 0.5f};

Coefficients Limits(const KernelSpec& spec) {
  return {GetAttribute<float>(spec.node, "min"), GetAttribute<float>(spec.node, "max")};
}

dnnl::eltwise_forward::primitive_desc Describe(const dnnl::memory::desc& flat, algorithm kind,
                                               const Coefficients& c) {
  return {CpuEngine(), dnnl::prop_kind::forward_training, kind, flat, flat, c.alpha, c.beta,
          Attributes()};
}

std::unique_ptr<Kernel> Forward(const KernelSpec& spec, algorithm kind,
                                const Coefficients& coefficients = {}) {
  const dnnl::memory::desc flat = Flat(spec.inputs[0].shape.Elements(), spec.inputs[0].type);
  const CapacityScope scope(spec, SecondsToMove(flat, flat, spec.rates));
  return std::make_unique<PrimitiveKernel>(
      spec, scope, Describe(flat, kind, coefficients),
      std::vector{Input(0, DNNL_ARG_SRC, flat), Result(0, DNNL_ARG_DST, flat)});
}

// From dy and, as the algorithm says, x or y.
std::unique_ptr<Kernel> Backward(const KernelSpec& spec, algorithm kind, int of,
                                 const Coefficients& coefficients = {}) {
  const dnnl::memory::desc flat = Flat(spec.inputs[0].shape.Elements(), spec.inputs[0].type);
  const CapacityScope scope(spec, SecondsToMove(flat, flat, spec.rates));
  const dnnl::eltwise_backward::primitive_desc descriptor(
      CpuEngine(), kind, flat, flat, flat, coefficients.alpha, coefficients.beta,
      Describe(flat, kind, coefficients), Attributes());
  return std::make_unique<PrimitiveKernel>(
      spec, scope, descriptor,
      std::vector{Input(0, DNNL_ARG_DIFF_DST, flat), Input(1, of, flat),
                  Result(0, DNNL_ARG_DIFF_SRC, flat)});
}

}  // namespace

std::unique_ptr<Kernel> MakeCast(const KernelSpec& spec) {
  const int64_t elements = spec.inputs[0].shape.Elements();
  const dnnl::memory::desc from = Flat(elements, spec.inputs[0].type);
  const dnnl::memory::desc to = Flat(elements, spec.node.outputs[0].type);
  const CapacityScope scope(spec, SecondsToMove(from, to, spec.rates));
  const dnnl::reorder::primitive_desc descriptor(CpuEngine(), from, CpuEngine(), to, Attributes());
  return std::make_unique<PrimitiveKernel>(
      spec, scope, descriptor,
      std::vector{Input(0, DNNL_ARG_FROM, from), Result(0, DNNL_ARG_TO, to)});
}

std::unique_ptr<Kernel> MakeRelu(const KernelSpec& spec) {
  return Forward(spec, algorithm::eltwise_relu);
}
std::unique_ptr<Kernel> MakeReluGrad(const KernelSpec& spec) {
  return Backward(spec, algorithm::eltwise_relu_use_dst_for_bwd, DNNL_ARG_DST);
}
std::unique_ptr<Kernel> MakeRelu6(const KernelSpec& spec) {
  return Forward(spec, algorithm::eltwise_clip, kSix);
}
std::unique_ptr<Kernel> MakeRelu6Grad(const KernelSpec& spec) {
  return Backward(spec, algorithm::eltwise_clip_v2_use_dst_for_bwd, DNNL_ARG_DST, kSix);
}
std::unique_ptr<Kernel> MakeClipByValue(const KernelSpec& spec) {
  return Forward(spec, algorithm::eltwise_clip, Limits(spec));
}
std::unique_ptr<Kernel> MakeClipByValueGrad(const KernelSpec& spec) {
  return Backward(spec, algorithm::eltwise_clip_v2_use_dst_for_bwd, DNNL_ARG_DST, Limits(spec));
}
std::unique_ptr<Kernel> MakeSigmoid(const KernelSpec& spec) {
  return Forward(spec, algorithm::eltwise_logistic);
}
std::unique_ptr<Kernel> MakeSigmoidGrad(const KernelSpec& spec) {
  return Backward(spec, algorithm::eltwise_logistic_use_dst_for_bwd, DNNL_ARG_DST);
}
std::unique_ptr<Kernel> MakeHardSwish(const KernelSpec& spec) {
  return Forward(spec, algorithm::eltwise_hardswish, kHardSwish);
}
std::unique_ptr<Kernel> MakeGelu(const KernelSpec& spec) {
  return Forward(spec, algorithm::eltwise_gelu_erf);
}
std::unique_ptr<Kernel> MakeHardSwishGrad(const KernelSpec& spec) {
  return Backward(spec, algorithm::eltwise_hardswish, DNNL_ARG_SRC, kHardSwish);
}

}  // namespace cosched::onednn
