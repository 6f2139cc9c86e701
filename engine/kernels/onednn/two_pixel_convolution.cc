// _FusedConv2D of few channels on both sides, LeNet-5's first layer: two neighbouring pixels of a
// row as one of twice the channels, which fill more of a vector. A filter one column wider, moved
// two pixels at a time, holds the one for the left pixel and the one for the right, and zeros up to
// a full block; without these the output is the wanted one.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/kernels/onednn/convolution.h"
#include "engine/kernels/onednn/fused_convolution.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

constexpr size_t kImage = 0, kFilter = 1, kBias = 2;
// Only with vectors of 16: of 8, six channels of one pixel fill as much as two pixels' of two.
constexpr int64_t kBlock = 16;

class TwoPixels : public Kernel {
 public:
  static bool Suits(const KernelSpec& spec, const Window& w) {
    return FewChannels(w) && ChannelBlock() == kBlock && 2 * w.out_channels <= kBlock &&
           w.out_width % 2 == 0 && w.stride_width == 1 && w.dilation_width == 1 &&
           spec.inputs.size() <= kBias + 1 && spec.Constant(kBias) != nullptr &&
           spec.inputs[kImage].type == DataType::kFloat;
  }

  TwoPixels(const KernelSpec& spec, const Window& w)
      : channels_(2 * w.out_channels),
        tasks_(TasksFor(spec, w)),
        blocks_({Tensor(Shape{w.batch, w.out_height, w.out_width / 2, kBlock})}) {
    Node node = spec.node;
    node.outputs[0].shape = blocks_[0].GetShape();
    node.attributes["strides"] = std::vector<int64_t>{w.stride_height, 2};
    node.attributes["padding"] = "EXPLICIT";
    node.attributes["explicit_paddings"] =
        std::vector<int64_t>{w.pad_top, w.pad_bottom, w.pad_left, w.pad_right};
    const Tensor filter = Filter(spec.Constant(kFilter)->Floats(), w);
    const Tensor bias = Bias(spec.Constant(kBias)->Floats(), w.out_channels);
    const KernelSpec wide{node,       {spec.inputs[kImage], {filter.GetShape()}, {bias.GetShape()}},
                          spec.pools, spec.piece_time,
                          spec.rates, {nullptr, &filter, &bias},
                          nullptr,    spec.threads};
    convolution_ = MakeDirectFusedConv2D(
        wide, ConvolutionWindow(node, spec.inputs[kImage].shape, filter.GetShape()));
  }

  int Pieces() const override { return convolution_->Pieces(); }
  bool KeepsConstant(size_t input) const override { return input == kFilter || input == kBias; }

  int PackingPieces() const override { return convolution_->PackingPieces(); }
  void PackPiece(ThreadPools& pools, int piece) override { convolution_->PackPiece(pools, piece); }

  void ComputePiece(KernelContext& context, int piece) override {
    KernelContext inner{context.inputs, blocks_, context.pools};
    convolution_->ComputePiece(inner, piece);
    if (piece + 1 == Pieces()) TakeOut(context);
  }

 private:
  static Tensor Filter(const float* narrow, const Window& w) {
    Tensor filter(Shape{w.rows, w.columns + 1, w.channels, kBlock});
    std::fill_n(filter.Floats(), filter.Elements(), 0.0f);
    const int64_t k = w.out_channels;
    for (int64_t row = 0; row < w.rows; ++row) {
      for (int64_t i = 0; i < w.columns * w.channels; ++i, narrow += k) {
        float* left = filter.Floats() + (row * (w.columns + 1) * w.channels + i) * kBlock;
        std::copy_n(narrow, k, left);
        std::copy_n(narrow, k, left + w.channels * kBlock + k);
      }
    }
    return filter;
  }

  static Tensor Bias(const float* narrow, int64_t k) {
    Tensor bias(Shape{kBlock});
    std::fill_n(bias.Floats(), kBlock, 0.0f);
    for (int64_t pixel : {0, 1}) std::copy_n(narrow, k, bias.Floats() + pixel * k);
    return bias;
  }

  // Whole blocks, each over what is too much of the one before it: a third of the time of a
  // reorder. In as many parts as the convolution, whose results lie in its threads' caches.
  void TakeOut(KernelContext& context) const {
    const int64_t pixels = blocks_[0].Elements() / kBlock;
    const Division parts{pixels, std::min<int64_t>(tasks_, pixels)};
    context.pools.intra().ParallelFor(static_cast<int>(parts.parts), [&](int part) {
      const int64_t begin = parts.Begin(part), end = parts.Begin(part + 1);
      const float* from = blocks_[0].Floats() + begin * kBlock;
      float* to = context.outputs[0].Floats() + begin * channels_;
      const float* const last = context.outputs[0].Floats() + end * channels_ - kBlock;
      for (; to <= last; from += kBlock, to += channels_)
        std::memcpy(to, from, kBlock * sizeof(float));
      for (; to < last + kBlock; from += kBlock, to += channels_)
        std::memcpy(to, from, static_cast<size_t>(channels_) * sizeof(float));
    });
  }

  const int64_t channels_;
  const int tasks_;
  std::array<Tensor, 1> blocks_;  // The wide output.
  std::unique_ptr<Kernel> convolution_;
};

}  // namespace

std::unique_ptr<Kernel> MakeTwoPixelFusedConv2D(const KernelSpec& spec, const Window& w) {
  if (!TwoPixels::Suits(spec, w)) return nullptr;
  return std::make_unique<TwoPixels>(spec, w);
}

}  // namespace cosched::onednn
