// Conv2DBackpropFilter. A long one is cut into sub-batches or rows, whose gradients are summed in
// order. The sum is read and written for each, so a piece covers kLeastPositions of the output at
// least; where those alone take too long (many channels), it is cut by channels of the image, too:
// each slice of them has a sum of its own. By channels of the output is slower (1.26 against 1.01
// of the whole for 128 of them): the primitive transposes the image, then for every slice again.

#include <algorithm>

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/convolution.h"
#include "engine/kernels/onednn/winograd_convolution.h"
#include "engine/kernels/window_blocks.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;
using Primitive = dnnl::convolution_backward_weights;
using Piece = PrimitiveKernel::Piece;

// Each costs two operations on every weight, at a core's full speed, and the sum three accesses to
// the cache, or to memory for long slices: about a fiftieth of it or less. Several tasks have a sum
// each, which the primitive adds up before: two of them cost a piece about 40 us, 2 to 3 % of one
// of 1.65 ms (64 channels, 8x8, batch 128). Fewer pieces would last longer than they should.
constexpr int64_t kLeastPositions = 1000;
// A slice of the image is a multiple of this many: what the generated code works on at a time.
constexpr int64_t kChannelBlock = 16;

Primitive::primitive_desc Describe(const Window& w, DataType images) {
  const Convolution c(w, images);
  return WithLayouts(c, /*plain_first=*/true, [&](const memory::desc& x, const memory::desc& dy) {
    return Primitive::primitive_desc(CpuEngine(), dnnl::algorithm::convolution_direct, x,
                                     Any(c.filter), dy, c.strides, c.dilates, c.pad_begin,
                                     c.pad_end, c.Forward(x, dy), Attributes());
  });
}

// The gradient of so many channels of the image, summed over the blocks. Slices of as many take
// turns, one when the sum of another is done.
class Slice {
 public:
  Slice(PrimitiveKernel* kernel, const Window& whole, DataType images, int64_t channels)
      : kernel_(*kernel), whole_(whole), images_(images), channels_(channels) {}

  int64_t Channels() const { return channels_; }

  // Adds the pieces of the channels from `begin` on.
  void AddPieces(const std::vector<WindowBlock>& blocks, int64_t begin) {
    for (const WindowBlock& block : blocks) {
      const Part& part = PartOf(block.window, &block == &blocks.front());
      Piece piece{{part.image, part.output}, part.steps};
      piece.bindings[0].offset = block.image_offset + begin;
      piece.bindings[1].offset = block.output_offset;
      if (&block == &blocks.back()) {
        if (!result_) {
          result_ = PrimitiveKernel::Unbound(OfAll(Convolution(whole_, images_).filter));
          give_result_ = kernel_.AddReorder(sum_, result_);
        }
        piece.bindings.push_back({result_, true, 0, begin * whole_.out_channels});
        piece.steps.push_back(give_result_);
      }
      kernel_.AddPiece(std::move(piece));
    }
  }

 private:
  // The steps for blocks of one window.
  struct Part {
    Window window;
    bool first;
    PrimitiveKernel::Binding image, output;
    std::vector<PrimitiveKernel::StepId> steps;
  };

  // These channels of a tensor that has all of them.
  memory::desc OfAll(const memory::desc& all) const {
    if (channels_ == whole_.channels) return all;
    memory::dims sizes = all.get_dims();
    sizes[1] = channels_;
    return {sizes, all.get_data_type(), all.get_strides()};
  }

  const Part& PartOf(const Window& window, bool first) {
    const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) {
      return part.window == window && part.first == first;
    });
    return found == parts_.end() ? parts_.emplace_back(MakePart(window, first)) : *found;
  }

  Part MakePart(const Window& window, bool first) {
    Window mine = window;
    mine.channels = channels_;
    const Primitive::primitive_desc descriptor = Describe(mine, images_);
    Part part{window,
              first,
              {PrimitiveKernel::Unbound(OfAll(Convolution(window, images_).image)), false, 0},
              {PrimitiveKernel::Unbound(Convolution(window, images_).output), false, 1},
              {}};
    const auto as_wanted = [&](const memory& tensor, const memory::desc& wanted) {
      if (tensor.get_desc() == wanted) return tensor;
      const memory reordered = kernel_.Keep(wanted);
      part.steps.push_back(kernel_.AddReorder(tensor, reordered));
      return reordered;
    };
    const memory x = as_wanted(part.image.memory, descriptor.src_desc());
    const memory dy = as_wanted(part.output.memory, descriptor.diff_dst_desc());
    const memory gradient = kernel_.Keep(descriptor.diff_weights_desc());
    part.steps.push_back(kernel_.AddStep(
        descriptor,
        {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_WEIGHTS, gradient}}));
    if (first) {
      sum_ = gradient;
    } else {
      Add(as_wanted(gradient, sum_.get_desc()), &part.steps);
    }
    return part;
  }

  // The elements of a blocked layout one after the other: padding is zero in both.
  void Add(const memory& gradient, std::vector<PrimitiveKernel::StepId>* steps) {
    const memory::desc flat =
        Flat(static_cast<int64_t>(sum_.get_desc().get_size() / sizeof(float)));
    const memory sum(flat, CpuEngine(), sum_.get_data_handle());
    const memory other(flat, CpuEngine(), gradient.get_data_handle());
    const dnnl::binary::primitive_desc descriptor(CpuEngine(), dnnl::algorithm::binary_add, flat,
                                                  flat, flat, Attributes());
    steps->push_back(kernel_.AddStep(
        descriptor, {{DNNL_ARG_SRC_0, sum}, {DNNL_ARG_SRC_1, other}, {DNNL_ARG_DST, sum}}));
  }

  PrimitiveKernel& kernel_;
  const Window& whole_;
  const DataType images_;
  const int64_t channels_;
  std::vector<Part> parts_;
  memory sum_, result_;
  PrimitiveKernel::StepId give_result_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> MakeConv2DBackpropFilter(const KernelSpec& spec) {
  const Window w = ConvolutionWindow(spec.node, spec.inputs[0].shape, spec.node.outputs[0].shape);
  const CapacityScope scope(TasksOfGradient(BatchSeconds(w, spec.rates), spec.Threads()));
  if (auto kernel = MakeWinogradConv2DBackpropFilter(spec, w)) return kernel;
  const DataType images = spec.inputs[0].type;
  const double piece = PieceSeconds(spec.piece_time, scope.Tasks());
  const double image = ImageSeconds(w, w.out_channels, spec.rates);
  const double positions = static_cast<double>(w.out_height * w.out_width);
  const auto blocks =
      CutWindow(w, Rows::kOfOutput, image, std::max(piece, image * kLeastPositions / positions),
                scope.Tasks());
  const double block = image * static_cast<double>(w.batch) / static_cast<double>(blocks.size());
  // Groups of channels are short: their filters are.
  const bool sliced = w.groups == 1 && w.channels % kChannelBlock == 0;
  const int64_t channel_blocks = sliced ? w.channels / kChannelBlock : 1;
  const Division slices =
      Division::Of(channel_blocks, block / static_cast<double>(channel_blocks), piece);
  if (blocks.size() == 1 && slices.parts == 1) {
    const Convolution c(w, images);
    const auto descriptor = Describe(w, images);
    return std::make_unique<PrimitiveKernel>(
        spec, scope, descriptor,
        std::vector{Input(0, DNNL_ARG_SRC, c.image, descriptor.src_desc()),
                    Input(1, DNNL_ARG_DIFF_DST, c.output, descriptor.diff_dst_desc()),
                    Result(0, DNNL_ARG_DIFF_WEIGHTS, c.filter, descriptor.diff_weights_desc())});
  }
  auto kernel = std::make_unique<PrimitiveKernel>(spec, scope);
  std::vector<Slice> by_size;
  for (int64_t i = 0; i < slices.parts; ++i) {
    const int64_t unit = w.channels / channel_blocks, channels = slices.Size(i) * unit;
    if (by_size.empty() || by_size.back().Channels() != channels)
      by_size.emplace_back(kernel.get(), w, images, channels);
    by_size.back().AddPieces(blocks, slices.Begin(i) * unit);
  }
  return kernel;
}

}  // namespace cosched::onednn
