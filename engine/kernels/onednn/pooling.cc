// MaxPool, AvgPool and AvgPoolGrad. MaxPoolGrad is eigen/max_pool_grad.cc: oneDNN's needs a
// workspace that its forward pass leaves behind, and TF's MaxPool has no such output.

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/primitive.h"
#include "engine/kernels/pieces.h"
#include "engine/kernels/window.h"

namespace cosched::onednn {
namespace {

dnnl::algorithm Average(const Window& w) {
  return w.count_padding ? dnnl::algorithm::pooling_avg_include_padding
                         : dnnl::algorithm::pooling_avg_exclude_padding;
}

struct Pooling {
  dnnl::memory::desc image, output;
  dnnl::memory::dims strides, kernel, dilation{0, 0}, pad_begin, pad_end;

  Pooling(const Window& w, DataType images)
      : image(Nhwc(w.batch, w.height, w.width, w.channels, images)),
        output(Nhwc(w.batch, w.out_height, w.out_width, w.channels, images)),
        strides{w.stride_height, w.stride_width},
        kernel{w.rows, w.columns},
        pad_begin{w.pad_top, w.pad_left},
        pad_end{w.pad_bottom, w.pad_right} {}

  dnnl::pooling_forward::primitive_desc Forward(dnnl::prop_kind kind,
                                                dnnl::algorithm algorithm) const {
    return {CpuEngine(), kind,     algorithm, image,   output,      strides,
            kernel,      dilation, pad_begin, pad_end, Attributes()};
  }
};

std::unique_ptr<Kernel> MakeForward(const KernelSpec& spec, const Window& w,
                                    dnnl::algorithm algorithm) {
  const Pooling pooling(w, spec.inputs[0].type);
  const CapacityScope scope(spec, SecondsToMove(pooling.image, pooling.output, spec.rates));
  auto kernel = std::make_unique<PrimitiveKernel>(spec, scope);
  kernel->AddPiece(kernel->Prepare(
      pooling.Forward(dnnl::prop_kind::forward_inference, algorithm),
      {Input(0, DNNL_ARG_SRC, pooling.image), Result(0, DNNL_ARG_DST, pooling.output)}));
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> MakeMaxPool(const KernelSpec& spec) {
  return MakeForward(spec, PoolingWindow(spec.node, spec.inputs[0].shape),
                     dnnl::algorithm::pooling_max);
}

std::unique_ptr<Kernel> MakeAvgPool(const KernelSpec& spec) {
  const Window w = PoolingWindow(spec.node, spec.inputs[0].shape);
  return MakeForward(spec, w, Average(w));
}

std::unique_ptr<Kernel> MakeAvgPoolGrad(const KernelSpec& spec) {
  const Window w = PoolingWindow(spec.node, spec.node.outputs[0].shape);
  const Pooling pooling(w, spec.inputs[0].type);
  const CapacityScope scope(spec, SecondsToMove(pooling.image, pooling.output, spec.rates));
  const dnnl::pooling_backward::primitive_desc descriptor(
      CpuEngine(), Average(w), pooling.image, pooling.output, pooling.strides, pooling.kernel,
      pooling.dilation, pooling.pad_begin, pooling.pad_end,
      pooling.Forward(dnnl::prop_kind::forward_training, Average(w)), Attributes());
  return std::make_unique<PrimitiveKernel>(
      spec, scope, descriptor,
      std::vector{Input(0, DNNL_ARG_DIFF_DST, pooling.output),
                  Result(0, DNNL_ARG_DIFF_SRC, pooling.image)});
}

}  // namespace cosched::onednn
