// Conv2D and its gradients. Images stay NHWC (a reorder of activations costs more than it wins)
// unless that would leave the generated code for a slow generic one; filters are reordered each
// time from HWIO to what the primitive wants.

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

// make(image, output) with plain layouts if that gives generated code, else with layouts of
// oneDNN's choice if those do.
template <typename Make>
auto PreferGenerated(const Convolution& c, Make make) {
  auto plain = make(c.image, c.output);
  if (IsGenerated(plain)) return plain;
  auto chosen = make(Any(c.image), Any(c.output));
  return IsGenerated(chosen) ? chosen : plain;
}

}  // namespace

std::unique_ptr<Kernel> MakeConv2D(const KernelSpec& spec) {
  const CapacityScope scope(spec.pools);
  const Convolution c(ConvolutionWindow(spec.node, spec.inputs[0].shape, spec.inputs[1].shape));
  const auto descriptor = PreferGenerated(
      c, [&](const memory::desc& x, const memory::desc& y) { return c.Forward(x, y); });
  return std::make_unique<PrimitiveKernel>(
      spec.pools, descriptor,
      std::vector{Input(0, DNNL_ARG_SRC, c.image, descriptor.src_desc()),
                  Input(1, DNNL_ARG_WEIGHTS, c.filter, descriptor.weights_desc()),
                  Result(0, DNNL_ARG_DST, c.output, descriptor.dst_desc())});
}

std::unique_ptr<Kernel> MakeConv2DBackpropInput(const KernelSpec& spec) {
  using Primitive = dnnl::convolution_backward_data;
  const CapacityScope scope(spec.pools);
  const Convolution c(
      ConvolutionWindow(spec.node, spec.node.outputs[0].shape, spec.inputs[0].shape));
  const auto descriptor = PreferGenerated(c, [&](const memory::desc& dx, const memory::desc& dy) {
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
  const auto descriptor = PreferGenerated(c, [&](const memory::desc& x, const memory::desc& dy) {
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
