// Conv2D and Conv2DBackpropInput. Filters are reordered each step from HWIO to what the primitive
// wants. Long ones are cut into sub-batches, or an image into rows, both at the speed of the whole;
// what stays long is an image of Conv2DBackpropInput whose stride is longer than its window.

#include "engine/kernels/onednn/convolution.h"

#include <algorithm>

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/winograd_convolution.h"
#include "engine/kernels/window_blocks.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {

using dnnl::memory;

namespace {

// HWIO memory [R,S,C/groups,K], where each group has K/groups channels of the output.
memory::desc FilterOf(const Window& w) {
  const int64_t in = w.channels / w.groups, out = w.out_channels / w.groups;
  memory::dims sizes{out, in, w.rows, w.columns};
  memory::dims strides{1, w.out_channels, w.columns * in * w.out_channels, in * w.out_channels};
  if (w.groups > 1) {
    sizes.insert(sizes.begin(), w.groups);
    strides.insert(strides.begin(), out);
  }
  return {sizes, memory::data_type::f32, strides};
}

}  // namespace

Convolution::Convolution(const Window& w, DataType images)
    : image(Nhwc(w.batch, w.height, w.width, w.channels, images)),
      filter(FilterOf(w)),
      packed_filter(filter.get_dims(), TypeOf(images), memory::format_tag::any),
      output(Nhwc(w.batch, w.out_height, w.out_width, w.out_channels, images)),
      strides{w.stride_height, w.stride_width},
      dilates{w.dilation_height - 1, w.dilation_width - 1},
      pad_begin{w.pad_top, w.pad_left},
      pad_end{w.pad_bottom, w.pad_right} {}

dnnl::convolution_forward::primitive_desc Convolution::Forward(const memory::desc& x,
                                                               const memory::desc& y) const {
  return {CpuEngine(),
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::convolution_direct,
          x,
          packed_filter,
          y,
          strides,
          dilates,
          pad_begin,
          pad_end,
          Attributes()};
}

bool IsGenerated(const dnnl::primitive_desc_base& descriptor) {
  const std::string_view name = descriptor.impl_info_str();
  return name.starts_with("jit") || name.starts_with("br");  // brgconv, brdgmm_dw.
}

double ImageSeconds(const Window& w, int64_t vector_channels, const KernelRates& rates) {
  const int64_t lanes = rates.lanes;
  // Vectors run along the channels of one group, unless each of these has one.
  if (!w.IsDepthwise()) vector_channels /= w.groups;
  const double image = static_cast<double>(w.ImageElements() / w.batch);
  const double output = static_cast<double>(w.OutputElements() / w.batch);
  const double filled = static_cast<double>((vector_channels + lanes - 1) / lanes * lanes) /
                        static_cast<double>(vector_channels);
  const double taps = static_cast<double>(w.rows * w.columns * w.channels / w.groups);
  return Work{2 * output * taps * filled, (image + output) * sizeof(float)}.Seconds(rates);
}

bool FewChannels(const Window& w) {
  return w.groups == 1 && w.channels < 8 && w.out_channels <= 16 && w.rows * w.columns >= 25;
}

namespace {

// A kernel with a piece for each block. prepare(kernel, window) gives the piece of a block's
// primitive, whose operands are {image side, output side, filter}.
template <typename Prepare>
std::unique_ptr<Kernel> InBlocks(const KernelSpec& spec, const CapacityScope& scope,
                                 const std::vector<WindowBlock>& blocks, Prepare prepare) {
  auto kernel = std::make_unique<PrimitiveKernel>(spec, scope);
  std::vector<std::pair<Window, PrimitiveKernel::Piece>> prepared;
  const Window& w = blocks.front().window;
  const auto filter = static_cast<double>(w.FilterElements());
  const double seconds = PieceSeconds(spec.piece_time, scope.Tasks());
  const bool long_filter =
      blocks.size() > 1 && Work{0, 2 * filter * sizeof(float)}.Seconds(spec.rates) > seconds / 4;
  for (const WindowBlock& block : blocks) {
    auto found = std::find_if(prepared.begin(), prepared.end(),
                              [&](const auto& other) { return other.first == block.window; });
    if (found == prepared.end())
      found = prepared.insert(found, {block.window, prepare(kernel.get(), block.window)});
    if (&block == &blocks.front() && long_filter) kernel->AddPieceOfReorders();
    PrimitiveKernel::Piece piece = found->second;
    piece.bindings[0].offset = block.image_offset;
    piece.bindings[1].offset = block.output_offset;
    kernel->AddPiece(std::move(piece));
  }
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> MakeConv2D(const KernelSpec& spec) {
  const Window whole = ConvolutionWindow(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  const CapacityScope scope(TasksFor(spec, whole));
  if (auto kernel = MakeWinogradConv2D(spec, whole)) return kernel;
  const bool plain_first = !FewChannels(whole);
  const auto prepare = [&](PrimitiveKernel* kernel, const Window& w) {
    const Convolution c(w, spec.inputs[0].type);
    const auto descriptor =
        WithLayouts(c, plain_first,
                    [&](const memory::desc& x, const memory::desc& y) { return c.Forward(x, y); });
    return kernel->Prepare(descriptor,
                           {Input(0, DNNL_ARG_SRC, c.image, descriptor.src_desc()),
                            Result(0, DNNL_ARG_DST, c.output, descriptor.dst_desc()),
                            Shared(1, DNNL_ARG_WEIGHTS, c.filter, descriptor.weights_desc())});
  };
  return InBlocks(
      spec, scope,
      CutWindow(whole, Rows::kOfOutput, ImageSeconds(whole, whole.out_channels, spec.rates),
                PieceSeconds(spec.piece_time, scope.Tasks()), scope.Tasks()),
      prepare);
}

std::unique_ptr<Kernel> MakeConv2DBackpropInput(const KernelSpec& spec) {
  using Primitive = dnnl::convolution_backward_data;
  const Window whole =
      ConvolutionWindow(spec.node, spec.node.outputs[0].shape, spec.inputs[0].shape);
  const CapacityScope scope(TasksFor(spec, whole));
  if (auto kernel = MakeWinogradConv2DBackpropInput(spec, whole)) return kernel;
  // Filling one channel is faster as it is: 2.2 ms instead of 5.3 for LeNet's first layer.
  const bool plain_first = !FewChannels(whole) || whole.channels == 1;
  const auto prepare = [&](PrimitiveKernel* kernel, const Window& w) {
    const Convolution c(w, spec.inputs[1].type);
    const auto descriptor =
        WithLayouts(c, plain_first, [&](const memory::desc& dx, const memory::desc& dy) {
          return Primitive::primitive_desc(CpuEngine(), dnnl::algorithm::convolution_direct, dx,
                                           c.packed_filter, dy, c.strides, c.dilates, c.pad_begin,
                                           c.pad_end, c.Forward(dx, dy), Attributes());
        });
    return kernel->Prepare(descriptor,
                           {Result(0, DNNL_ARG_DIFF_SRC, c.image, descriptor.diff_src_desc()),
                            Input(1, DNNL_ARG_DIFF_DST, c.output, descriptor.diff_dst_desc()),
                            Shared(0, DNNL_ARG_WEIGHTS, c.filter, descriptor.weights_desc())});
  };
  return InBlocks(spec, scope,
                  CutWindow(whole, Rows::kOfImage, ImageSeconds(whole, whole.channels, spec.rates),
                            PieceSeconds(spec.piece_time, scope.Tasks()), scope.Tasks()),
                  prepare);
}

}  // namespace cosched::onednn
