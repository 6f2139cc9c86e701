// Conv2D and its gradients. Images stay NHWC (a reorder of activations costs more than it wins),
// unless that leaves generated code for a slow generic one, or vectors mostly empty (LeNet).
// Filters are reordered each time from HWIO to what the primitive wants.

#include <string_view>

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/primitive.h"
#include "engine/kernels/window.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;

memory::desc Any(const memory::desc& plain) {
  return {plain.get_dims(), plain.get_data_type(), memory::format_tag::any};
}

// A convolution's plain tensors and its geometry in oneDNN's words.
struct Convolution {
  memory::desc image, filter, output;
  memory::dims strides, pad_begin, pad_end;

  explicit Convolution(const Window& w)
      : image(Nhwc(w.batch, w.height, w.width, w.channels)),
        filter({w.out_channels, w.channels, w.rows, w.columns}, memory::data_type::f32,
               memory::format_tag::hwio),
        output(Nhwc(w.batch, w.out_height, w.out_width, w.out_channels)),
        strides{w.stride_height, w.stride_width},
        pad_begin{w.pad_top, w.pad_left},
        pad_end{w.pad_bottom, w.pad_right} {}

  dnnl::convolution_forward::primitive_desc Forward(const memory::desc& x,
                                                    const memory::desc& y) const {
    return {CpuEngine(),
            dnnl::prop_kind::forward_training,
            dnnl::algorithm::convolution_direct,
            x,
            Any(filter),
            y,
            strides,
            pad_begin,
            pad_end,
            Attributes()};
  }
};

bool IsGenerated(const dnnl::primitive_desc_base& descriptor) {
  const std::string_view name = descriptor.impl_info_str();
  return name.starts_with("jit") || name.starts_with("brg");
}

// LeNet's case: large windows, few channels on both sides. With oneDNN's layouts its convolutions
// take 0.7 to 0.8 of the time, reorders included; with windows of 3x3 or 16 channels and more (the
// ResNets) the reorders cost more than they win.
bool FewChannels(const Window& w) {
  return w.channels < 8 && w.out_channels <= 16 && w.rows * w.columns >= 25;
}

// make(image, output) with plain or with oneDNN's layouts: the first of them that gives generated
// code, beginning as told; plain if neither does.
template <typename Make>
auto WithLayouts(const Convolution& c, bool plain_first, Make make) {
  const auto plain = [&] { return make(c.image, c.output); };
  const auto chosen = [&] { return make(Any(c.image), Any(c.output)); };
  auto first = plain_first ? plain() : chosen();
  if (IsGenerated(first)) return first;
  auto second = plain_first ? chosen() : plain();
  return IsGenerated(second) || !plain_first ? second : first;
}

}  // namespace

std::unique_ptr<Kernel> MakeConv2D(const KernelSpec& spec) {
  const CapacityScope scope(spec.pools);
  const Window w = ConvolutionWindow(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  const Convolution c(w);
  const auto descriptor =
      WithLayouts(c, !FewChannels(w),
                  [&](const memory::desc& x, const memory::desc& y) { return c.Forward(x, y); });
  return std::make_unique<PrimitiveKernel>(
      spec.pools, descriptor,
      std::vector{Input(0, DNNL_ARG_SRC, c.image, descriptor.src_desc()),
                  Input(1, DNNL_ARG_WEIGHTS, c.filter, descriptor.weights_desc()),
                  Result(0, DNNL_ARG_DST, c.output, descriptor.dst_desc())});
}

std::unique_ptr<Kernel> MakeConv2DBackpropInput(const KernelSpec& spec) {
  using Primitive = dnnl::convolution_backward_data;
  const CapacityScope scope(spec.pools);
  const Window w = ConvolutionWindow(spec.node, spec.node.outputs[0].shape, spec.inputs[0].shape);
  const Convolution c(w);
  // Filling one channel is faster as it is: 2.2 ms instead of 5.3 for LeNet's first layer.
  const bool plain_first = !FewChannels(w) || w.channels == 1;
  const auto descriptor =
      WithLayouts(c, plain_first, [&](const memory::desc& dx, const memory::desc& dy) {
        return Primitive::primitive_desc(CpuEngine(), dnnl::algorithm::convolution_direct, dx,
                                         Any(c.filter), dy, c.strides, c.pad_begin, c.pad_end,
                                         c.Forward(dx, dy), Attributes());
      });
  return std::make_unique<PrimitiveKernel>(
      spec.pools, descriptor,
      std::vector{Input(0, DNNL_ARG_WEIGHTS, c.filter, descriptor.weights_desc()),
                  Input(1, DNNL_ARG_DIFF_DST, c.output, descriptor.diff_dst_desc()),
                  Result(0, DNNL_ARG_DIFF_SRC, c.image, descriptor.diff_src_desc())});
}

std::unique_ptr<Kernel> MakeConv2DBackpropFilter(const KernelSpec& spec) {
  using Primitive = dnnl::convolution_backward_weights;
  const CapacityScope scope(spec.pools);
  const Convolution c(
      ConvolutionWindow(spec.node, spec.inputs[0].shape, spec.node.outputs[0].shape));
  const auto descriptor =
      WithLayouts(c, /*plain_first=*/true, [&](const memory::desc& x, const memory::desc& dy) {
        return Primitive::primitive_desc(CpuEngine(), dnnl::algorithm::convolution_direct, x,
                                         Any(c.filter), dy, c.strides, c.pad_begin, c.pad_end,
                                         c.Forward(x, dy), Attributes());
      });
  return std::make_unique<PrimitiveKernel>(
      spec.pools, descriptor,
      std::vector{Input(0, DNNL_ARG_SRC, c.image, descriptor.src_desc()),
                  Input(1, DNNL_ARG_DIFF_DST, c.output, descriptor.diff_dst_desc()),
                  Result(0, DNNL_ARG_DIFF_WEIGHTS, c.filter, descriptor.diff_weights_desc())});
}

}  // namespace cosched::onednn
