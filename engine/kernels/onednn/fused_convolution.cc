// _FusedConv2D: filter packed once, bias, residual sum and activation applied to the output while
// it is in the cache. Cut as Conv2D is. The residual is summed in place: the session gives the
// output the residual's buffer where nobody reads that afterwards; elsewhere it is copied first.

#include <cstring>

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/activation.h"
#include "engine/kernels/onednn/convolution.h"
#include "engine/kernels/onednn/winograd_convolution.h"
#include "engine/kernels/window_blocks.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;
constexpr size_t kImage = 0, kFilter = 1, kBias = 2, kResidual = 3;

class FusedConvolution : public PrimitiveKernel {
 public:
  FusedConvolution(const KernelSpec& spec, const CapacityScope& scope)
      : PrimitiveKernel(spec.pools, scope), has_residual_(spec.inputs.size() > kResidual) {}

  void AddBlock(const WindowBlock& block, Piece piece) {
    piece.bindings[0].offset = block.image_offset;
    piece.bindings[1].offset = block.output_offset;
    blocks_.push_back({block.output_offset, block.window.OutputElements()});
    AddPiece(std::move(piece));
  }

  void ComputePiece(KernelContext& context, int piece) override {
    if (has_residual_) CopyResidual(context, blocks_[static_cast<size_t>(piece)]);
    PrimitiveKernel::ComputePiece(context, piece);
  }

 private:
  struct Range {
    int64_t begin, elements;
  };

  static void CopyResidual(KernelContext& context, const Range& range) {
    const auto bytes = static_cast<int64_t>(SizeOf(context.outputs[0].Type()));
    const auto* from = static_cast<const std::byte*>(context.inputs[kResidual]->Data());
    auto* to = static_cast<std::byte*>(context.outputs[0].Data());
    if (from == to) return;
    constexpr int64_t kChunk = 32768;
    const auto chunks = static_cast<int>((range.elements + kChunk - 1) / kChunk);
    context.pools.intra().ParallelFor(chunks, [&](int chunk) {
      const int64_t begin = chunk * kChunk;
      const int64_t elements = std::min(kChunk, range.elements - begin);
      const int64_t offset = (range.begin + begin) * bytes;
      std::memcpy(to + offset, from + offset, static_cast<size_t>(elements * bytes));
    });
  }

  const bool has_residual_;
  std::vector<Range> blocks_;  // By piece.
};

// LeNet's layers, in what oneDNN's generated code takes for images of few channels: planes in, one
// block of channels out. It takes half the time of NHWC with vectors that are mostly empty, the
// reorders included.
constexpr int64_t kBlock = 16;
template <typename Make>
auto InChannelBlocks(const Convolution& c, Make make) {
  const auto in = [](const memory::desc& plain, memory::format_tag tag) {
    return memory::desc(plain.get_dims(), plain.get_data_type(), tag);
  };
  const auto blocked =
      make(in(c.image, memory::format_tag::nchw), in(c.output, memory::format_tag::nChw16c));
  return IsGenerated(blocked) ? blocked : WithLayouts(c, true, make);
}

// A single full block of channels is the plain layout in other words: nothing to reorder.
memory::desc PlainOf(const memory::desc& plain, const memory::desc& wanted) {
  const bool same = plain.get_dims()[1] == kBlock && plain.get_size() == wanted.get_size();
  return same ? wanted : plain;
}

// Two neighbouring pixels of a row as one of twice the channels, which fill more of a vector: a
// filter one column wider, moved two pixels at a time, holds the one for the left pixel and the one
// for the right. The output is the same memory.
struct TwoPixels {
  Node node;
  Tensor filter, bias;
  std::vector<const Tensor*> constants;

  explicit TwoPixels(const KernelSpec& spec);
  static bool Suits(const KernelSpec& spec, const Window& w) {
    return FewChannels(w) && 2 * w.out_channels <= kBlock && w.out_width % 2 == 0 &&
           w.stride_width == 1 && w.dilation_width == 1 && spec.inputs.size() <= kResidual &&
           spec.Constant(kBias) != nullptr;
  }
  KernelSpec Spec(const KernelSpec& spec) const {
    return {node,
            {spec.inputs[0], {filter.GetShape()}, {bias.GetShape()}},
            spec.pools,
            spec.piece_time,
            constants};
  }
};

TwoPixels::TwoPixels(const KernelSpec& spec) : node(spec.node) {
  const Window w = ConvolutionWindow(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  const int64_t k = w.out_channels;
  filter = Tensor(Shape{w.rows, w.columns + 1, w.channels, 2 * k});
  bias = Tensor(Shape{2 * k});
  std::fill_n(filter.Floats(), filter.Elements(), 0.0f);
  const float* from = spec.Constant(kFilter)->Floats();
  for (int64_t row = 0; row < w.rows; ++row) {
    for (int64_t i = 0; i < w.columns * w.channels; ++i, from += k) {
      float* left = filter.Floats() + (row * (w.columns + 1) * w.channels + i) * 2 * k;
      std::copy_n(from, k, left);
      std::copy_n(from, k, left + w.channels * 2 * k + k);
    }
  }
  for (int64_t pixel : {0, 1})
    std::copy_n(spec.Constant(kBias)->Floats(), k, bias.Floats() + pixel * k);
  node.outputs[0].shape = {w.batch, w.out_height, w.out_width / 2, 2 * k};
  node.attributes["strides"] = std::vector<int64_t>{w.stride_height, 2};
  node.attributes["padding"] = "EXPLICIT";
  node.attributes["explicit_paddings"] =
      std::vector<int64_t>{w.pad_top, w.pad_bottom, w.pad_left, w.pad_right};
  constants = {nullptr, &filter, &bias};
}

dnnl::primitive_attr PostOps(const KernelSpec& spec) {
  dnnl::post_ops post_ops;
  if (spec.inputs.size() > kResidual) post_ops.append_sum();
  AppendActivation(ReadActivation(spec.node), &post_ops);
  dnnl::primitive_attr attributes = Attributes();
  attributes.set_post_ops(post_ops);
  return attributes;
}

}  // namespace

std::unique_ptr<Kernel> MakeFusedConv2D(const KernelSpec& spec) {
  using Primitive = dnnl::convolution_forward;
  const Window whole = ConvolutionWindow(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  if (TwoPixels::Suits(spec, whole)) {
    const TwoPixels two(spec);
    return MakeFusedConv2D(two.Spec(spec));
  }
  if (auto kernel = MakeWinogradFusedConv2D(spec, whole)) return kernel;
  const double image_seconds = ImageSeconds(whole, whole.out_channels);
  const CapacityScope scope(spec.pools, image_seconds * static_cast<double>(whole.batch));
  const dnnl::primitive_attr attributes = PostOps(spec);
  const memory::desc bias = Flat(whole.out_channels);
  const bool plain_first =
      !FewChannels(whole) || whole.out_channels > kBlock || spec.inputs.size() > kResidual;
  auto kernel = std::make_unique<FusedConvolution>(spec, scope);
  const auto prepare = [&](const Window& w) {
    const Convolution c(w, spec.inputs[kImage].type);
    const auto make = [&](const memory::desc& x, const memory::desc& y) {
      return Primitive::primitive_desc(
          CpuEngine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x,
          c.packed_filter, bias, y, c.strides, c.dilates, c.pad_begin, c.pad_end, attributes);
    };
    const auto descriptor = plain_first ? WithLayouts(c, true, make) : InChannelBlocks(c, make);
    const memory filter = kernel->Constant(spec, kFilter, 0, c.filter, descriptor.weights_desc());
    return kernel->Prepare(
        descriptor,
        {Input(kImage, DNNL_ARG_SRC, c.image, descriptor.src_desc()),
         Result(0, DNNL_ARG_DST, PlainOf(c.output, descriptor.dst_desc()), descriptor.dst_desc()),
         spec.Constant(kBias) == nullptr
             ? Input(kBias, DNNL_ARG_BIAS, bias)
             : Constant(DNNL_ARG_BIAS, kernel->Constant(spec, kBias, 0, bias, bias)),
         Constant(DNNL_ARG_WEIGHTS, filter)});
  };
  const double seconds = PieceSeconds(spec.piece_time, spec.pools.Capacity().intra);
  std::vector<std::pair<Window, PrimitiveKernel::Piece>> prepared;
  for (const WindowBlock& block :
       CutWindow(whole, Rows::kOfOutput, image_seconds, seconds, spec.pools.Capacity().intra)) {
    auto found = std::find_if(prepared.begin(), prepared.end(),
                              [&](const auto& other) { return other.first == block.window; });
    if (found == prepared.end())
      found = prepared.insert(found, {block.window, prepare(block.window)});
    kernel->AddBlock(block, found->second);
  }
  return kernel;
}

}  // namespace cosched::onednn
