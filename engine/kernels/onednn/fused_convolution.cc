// _FusedConv2D: filter packed once, bias, residual sum and activation applied to the output while
// it is in the cache. Cut as Conv2D is. The residual is summed in place: the session gives the
// output the residual's buffer where nobody reads that afterwards; elsewhere it is copied first.

#include "engine/kernels/onednn/fused_convolution.h"

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
      : PrimitiveKernel(spec, scope), has_residual_(spec.inputs.size() > kResidual) {}

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
template <typename Make>
auto InChannelBlocks(const Convolution& c, Make make) {
  const auto in = [](const memory::desc& plain, memory::format_tag tag) {
    return memory::desc(plain.get_dims(), plain.get_data_type(), tag);
  };
  const auto out = ChannelBlock() == 16 ? memory::format_tag::nChw16c : memory::format_tag::nChw8c;
  const auto blocked = make(in(c.image, memory::format_tag::nchw), in(c.output, out));
  return IsGenerated(blocked) ? blocked : WithLayouts(c, true, make);
}

// A single full block of channels is the plain layout in other words: nothing to reorder.
memory::desc PlainOf(const memory::desc& plain, const memory::desc& wanted) {
  const bool same = plain.get_dims()[1] == ChannelBlock() && plain.get_size() == wanted.get_size();
  return same ? wanted : plain;
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

std::unique_ptr<Kernel> MakeDirectFusedConv2D(const KernelSpec& spec, const Window& whole) {
  using Primitive = dnnl::convolution_forward;
  const double image_seconds = ImageSeconds(whole, whole.out_channels, spec.rates);
  const CapacityScope scope(TasksFor(spec, whole));
  const dnnl::primitive_attr attributes = PostOps(spec);
  const memory::desc bias = Flat(whole.out_channels);
  const bool plain_first =
      !FewChannels(whole) || whole.out_channels > ChannelBlock() || spec.inputs.size() > kResidual;
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
  const double seconds = PieceSeconds(spec.piece_time, scope.Tasks());
  std::vector<std::pair<Window, PrimitiveKernel::Piece>> prepared;
  for (const WindowBlock& block :
       CutWindow(whole, Rows::kOfOutput, image_seconds, seconds, scope.Tasks())) {
    auto found = std::find_if(prepared.begin(), prepared.end(),
                              [&](const auto& other) { return other.first == block.window; });
    if (found == prepared.end())
      found = prepared.insert(found, {block.window, prepare(block.window)});
    kernel->AddBlock(block, found->second);
  }
  return kernel;
}

std::unique_ptr<Kernel> MakeFusedConv2D(const KernelSpec& spec) {
  const Window w = ConvolutionWindow(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  if (auto kernel = MakeTwoPixelFusedConv2D(spec, w)) return kernel;
  if (auto kernel = MakeWinogradFusedConv2D(spec, w)) return kernel;
  return MakeDirectFusedConv2D(spec, w);
}

}  // namespace cosched::onednn
