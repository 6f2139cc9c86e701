// A block of tiles at a time: images into the transformed domain, one product of matrices for each
// of its points, and back, with bias, residual and activation. Blocks are so small that their
// values stay in the cache; the transformed filter is packed once.

#include "engine/kernels/onednn/winograd_convolution.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <oneapi/dnnl/dnnl_threadpool.hpp>
#include <string>

#include "engine/kernels/eigen/winograd_transforms.h"
#include "engine/kernels/onednn/convolution.h"
#include "engine/kernels/winograd.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;
constexpr size_t kImage = 0, kFilter = 1, kBias = 2, kResidual = 3;

// The right sides of the products. Made in the first step, where the pool's workers take part.
class TransformedFilter : public PackedConstants::Entry {
 public:
  TransformedFilter(Tensor plain, const memory::desc& layout)
      : plain_(std::move(plain)),
        packed_(Shape{static_cast<int64_t>(layout.get_size() / sizeof(float))}),
        memory_(layout, CpuEngine(), packed_.Data()) {}

  const dnnl::memory& Memory() const { return memory_; }

  void MakeOnce(const Window& w, int tile_size, int64_t points, ThreadPools& pools,
                dnnl::stream* stream) {
    std::call_once(made_, [&] {
      Tensor transformed(Shape{points, w.channels, w.out_channels});
      pools.intra().ParallelFor(static_cast<int>(w.channels), [&](int channel) {
        eigen::TransformFilter(w, tile_size, channel, channel + 1, plain_.Floats(),
                               transformed.Floats());
      });
      const memory::desc plain({points, w.channels, w.out_channels}, memory::data_type::f32,
                               memory::format_tag::abc);
      dnnl::memory from(plain, CpuEngine(), transformed.Data());
      dnnl::reorder(from, memory_).execute(*stream, from, memory_);
      plain_ = Tensor();
    });
  }

 private:
  std::once_flag made_;
  Tensor plain_;  // Dropped then.
  Tensor packed_;
  dnnl::memory memory_;
};

class WinogradConvolution : public Kernel {
 public:
  WinogradConvolution(const KernelSpec& spec, const Window& w, const WinogradTiles& tiles)
      : window_(w),
        tiles_(tiles),
        division_(DivideWinograd(w, tiles, spec.pools.Capacity().intra, spec.piece_time)),
        activation_(ReadActivation(spec.node)),
        stream_(dnnl::threadpool_interop::make_stream(CpuEngine(), &spec.pools.onednn())) {
    const CapacityScope scope(spec.pools);
    memory::desc layout({tiles.Points(), w.channels, w.out_channels}, memory::data_type::f32,
                        memory::format_tag::any);
    for (int64_t block : {int64_t{0}, division_.blocks.parts - 1}) {
      const int64_t rows = division_.blocks.Size(block);
      if (!products_.empty() && products_.back().rows == rows) continue;
      products_.emplace_back(rows, w, tiles.Points(), layout);
      layout = products_.back().descriptor.weights_desc();
    }
    const std::vector<uint8_t> blob = layout.get_blob();
    const std::string key =
        "winograd" + std::to_string(tiles.size) + std::string(blob.begin(), blob.end());
    std::shared_ptr<PackedConstants::Entry> own;
    std::shared_ptr<PackedConstants::Entry>& entry =
        spec.packed == nullptr ? own : spec.packed->At(spec.Constant(kFilter)->Data(), key);
    if (!entry) entry = std::make_shared<TransformedFilter>(*spec.Constant(kFilter), layout);
    filter_ = std::static_pointer_cast<TransformedFilter>(entry);
  }

  int Pieces() const override { return static_cast<int>(division_.pieces.parts); }
  bool KeepsConstant(size_t input) const override { return input == kFilter; }

  void ComputePiece(KernelContext& context, int piece) override {
    filter_->MakeOnce(window_, tiles_.size, tiles_.Points(), context.pools, &stream_);
    const int64_t end = division_.pieces.Begin(piece + 1);
    for (int64_t block = division_.pieces.Begin(piece); block < end; ++block)
      ComputeBlock(context, division_.blocks.Begin(block), division_.blocks.Size(block));
  }

 private:
  // Of a block of so many tiles.
  struct Product {
    Product(int64_t of_rows, const Window& w, int64_t points, const memory::desc& filter)
        : rows(of_rows),
          left({points, rows, w.channels}, memory::data_type::f32, memory::format_tag::abc),
          result({points, rows, w.out_channels}, memory::data_type::f32, memory::format_tag::abc),
          descriptor(CpuEngine(), left, filter, result, Attributes()),
          primitive(descriptor) {}

    int64_t rows;
    memory::desc left, result;
    dnnl::matmul::primitive_desc descriptor;
    dnnl::matmul primitive;
  };

  // body(begin, end) on parts of the tiles, one for each thread.
  template <typename Body>
  void ForTiles(ThreadPools& pools, int64_t tiles, Body body) const {
    const Division parts{tiles, std::min<int64_t>(pools.Capacity().intra, tiles)};
    pools.intra().ParallelFor(static_cast<int>(parts.parts),
                              [&](int part) { body(parts.Begin(part), parts.Begin(part + 1)); });
  }

  void ComputeBlock(KernelContext& context, int64_t first, int64_t size) {
    const Product& product = products_.front().rows == size ? products_.front() : products_.back();
    const int64_t left = product.left.get_size() / sizeof(float),
                  result = product.result.get_size() / sizeof(float);
    const auto scratchpad = static_cast<int64_t>(product.descriptor.scratchpad_desc().get_size());
    auto* values = reinterpret_cast<float*>(context.pools.Scratch(
        static_cast<size_t>(left + result) * sizeof(float) + static_cast<size_t>(scratchpad)));
    float* products = values + left;
    ForTiles(context.pools, size, [&](int64_t begin, int64_t end) {
      eigen::TransformImages(window_, tiles_, first + begin, first + end,
                             context.inputs[kImage]->Floats(), values + begin * window_.channels,
                             size * window_.channels);
    });
    product.primitive.execute(
        stream_, {{DNNL_ARG_SRC, memory(product.left, CpuEngine(), values)},
                  {DNNL_ARG_WEIGHTS, filter_->Memory()},
                  {DNNL_ARG_DST, memory(product.result, CpuEngine(), products)},
                  {DNNL_ARG_SCRATCHPAD,
                   memory(product.descriptor.scratchpad_desc(), CpuEngine(), products + result)}});
    const bool has_residual = context.inputs.size() > kResidual;
    const eigen::WinogradOutput output = {
        context.inputs[kBias]->Floats(),
        has_residual ? context.inputs[kResidual]->Floats() : nullptr, activation_,
        context.outputs[0].Floats()};
    ForTiles(context.pools, size, [&](int64_t begin, int64_t end) {
      eigen::TransformProducts(window_, tiles_, first + begin, first + end,
                               products + begin * window_.out_channels, size * window_.out_channels,
                               output);
    });
  }

  const Window window_;
  const WinogradTiles tiles_;
  const WinogradBlocks division_;
  const Activation activation_;
  dnnl::stream stream_;
  std::vector<Product> products_;  // Of the one or two sizes of blocks.
  std::shared_ptr<TransformedFilter> filter_;
};

}  // namespace

std::unique_ptr<Kernel> MakeWinogradConvolution(const KernelSpec& spec, const Window& w) {
  if (spec.inputs[kImage].type != DataType::kFloat) return nullptr;
  const double direct = ImageSeconds(w, w.out_channels) * static_cast<double>(w.batch);
  const int size = ChooseWinograd(w, direct);
  if (size == 0) return nullptr;
  return std::make_unique<WinogradConvolution>(spec, w, WinogradTiles(w, size));
}

}  // namespace cosched::onednn
