// Relu and ReluGrad, over the flat buffer.

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/primitive.h"

namespace cosched::onednn {

std::unique_ptr<Kernel> MakeRelu(const KernelSpec& spec) {
  const CapacityScope scope(spec.pools);
  const dnnl::memory::desc flat = Flat(spec.inputs[0].shape.Elements());
  const dnnl::eltwise_forward::primitive_desc descriptor(
      CpuEngine(), dnnl::prop_kind::forward_training, dnnl::algorithm::eltwise_relu, flat, flat,
      /*alpha=*/0.0f, /*beta=*/0.0f, Attributes());
  return std::make_unique<PrimitiveKernel>(
      spec.pools, descriptor,
      std::vector{Input(0, DNNL_ARG_SRC, flat), Result(0, DNNL_ARG_DST, flat)});
}

std::unique_ptr<Kernel> MakeReluGrad(const KernelSpec& spec) {
  const CapacityScope scope(spec.pools);
  constexpr auto kRelu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
  const dnnl::memory::desc flat = Flat(spec.inputs[0].shape.Elements());
  const dnnl::eltwise_forward::primitive_desc forward(
      CpuEngine(), dnnl::prop_kind::forward_training, kRelu, flat, flat, 0.0f, 0.0f, Attributes());
  const dnnl::eltwise_backward::primitive_desc descriptor(CpuEngine(), kRelu, flat, flat, flat,
                                                          0.0f, 0.0f, forward, Attributes());
  return std::make_unique<PrimitiveKernel>(
      spec.pools, descriptor,
      std::vector{Input(0, DNNL_ARG_DIFF_DST, flat), Input(1, DNNL_ARG_DST, flat),
                  Result(0, DNNL_ARG_DIFF_SRC, flat)});
}

}  // namespace cosched::onednn
