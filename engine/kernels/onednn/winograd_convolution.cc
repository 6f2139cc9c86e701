// Blocks of tiles, as many at a time as there are threads: images into the transformed domain, one
// product of matrices for each of its points, and back, with bias, residual and activation. Blocks
// are so small that their values stay in the cache; the transformed filter is packed once.

#include "engine/kernels/onednn/winograd_convolution.h"

#include <algorithm>
#include <array>
#include <oneapi/dnnl/dnnl_threadpool.hpp>
#include <string>
#include <utility>

#include "engine/kernels/eigen/winograd_transforms.h"
#include "engine/kernels/onednn/convolution.h"
#include "engine/kernels/onednn/reorder_parts.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;

// Which inputs of the node the convolution reads; -1: none.
struct Inputs {
  int image, filter, bias = -1, residual = -1;
};

const Tensor* InputOf(const KernelContext& context, int input) {
  const auto index = static_cast<size_t>(input);
  return input == -1 || index >= context.inputs.size() ? nullptr : context.inputs[index];
}

// The right sides of the products, as stored by TransformFilter: a turned filter maps what columns
// were to rows.
memory::desc StoredFilter(const eigen::WinogradFilter& shape, int64_t points) {
  return shape.turned ? memory::desc({points, shape.columns, shape.rows}, memory::data_type::f32,
                                     memory::format_tag::acb)
                      : memory::desc({points, shape.rows, shape.columns}, memory::data_type::f32,
                                     memory::format_tag::abc);
}

// Rows of a filter that one thread transforms within the piece time.
Division DivideFilter(const eigen::WinogradFilter& shape, int64_t points, const KernelSpec& spec) {
  const Work row{0, static_cast<double>((9 + points) * shape.columns) * sizeof(float)};
  return Division::Of(shape.rows, row.Seconds(spec.rates),
                      PieceSeconds(spec.piece_time, spec.Threads()));
}

// The same in the layout that the products want.
class TransformedFilter : public PackedConstants::Entry {
 public:
  // REQUIRES: a CapacityScope.
  TransformedFilter(const eigen::WinogradFilter& shape, const WinogradTiles& tiles,
                    const memory::desc& layout, const KernelSpec& spec)
      : shape_(shape),
        tile_size_(tiles.size),
        stored_(StoredFilter(shape, tiles.Points())),
        packed_(Shape{static_cast<int64_t>(layout.get_size() / sizeof(float))}),
        memory_(layout, CpuEngine(), packed_.Data()),
        transform_(DivideFilter(shape, tiles.Points(), spec)),
        reorder_(stored_, memory_, spec) {}

  const dnnl::memory& Memory() const { return memory_; }

  void Make(const float* filter, ThreadPools& pools, dnnl::stream* stream) {
    auto* transformed = reinterpret_cast<float*>(pools.Scratch(stored_.get_size()));
    Transform(0, shape_.rows, filter, transformed, pools);
    for (int part = 0; part < reorder_.Count(); ++part) reorder_.Execute(part, transformed, stream);
  }

  // The same in pieces, where the filter is a constant, in the first step: there the pool's workers
  // take part.
  int Pieces() const { return static_cast<int>(transform_.parts) + reorder_.Count(); }
  void MakePiece(int piece, const float* filter, ThreadPools& pools, dnnl::stream* stream) {
    if (piece < made_) return;  // By another kernel.
    if (transformed_.IsEmpty())
      transformed_ = Tensor(Shape{static_cast<int64_t>(stored_.get_size() / sizeof(float))});
    const auto part = piece - static_cast<int>(transform_.parts);
    if (part < 0) {
      Transform(transform_.Begin(piece), transform_.Begin(piece + 1), filter, transformed_.Floats(),
                pools);
    } else {
      reorder_.Execute(part, transformed_.Data(), stream);
    }
    made_ = piece + 1;
    if (made_ == Pieces()) transformed_ = Tensor();
  }

 private:
  void Transform(int64_t begin, int64_t end, const float* filter, float* transformed,
                 ThreadPools& pools) const {
    pools.intra().ParallelFor(static_cast<int>(end - begin), [&](int row) {
      eigen::TransformFilter(tile_size_, shape_, begin + row, begin + row + 1, filter, transformed);
    });
  }

  const eigen::WinogradFilter shape_;
  const int tile_size_;
  const memory::desc stored_;
  Tensor packed_;
  dnnl::memory memory_;
  const Division transform_;  // The rows' division.
  ReorderParts reorder_;
  Tensor transformed_;  // While it is made.
  int made_ = 0;        // Pieces.
};

class WinogradConvolution : public Kernel {
 public:
  // w: of the sum that the node computes, whichever way its filter is turned.
  WinogradConvolution(const KernelSpec& spec, const Window& w, int tile_size, WinogradUse use,
                      bool turned, const Inputs& inputs)
      : window_(w),
        tiles_(w, tile_size),
        division_(DivideWinograd(w, tiles_, ConditionsFor(spec, w, use))),
        has_constant_(use == WinogradUse::kConstantFilter),
        inputs_(inputs),
        stream_(dnnl::threadpool_interop::make_stream(CpuEngine(),
                                                      &spec.pools.onednn(division_.tasks))) {
    const CapacityScope scope(division_.tasks);
    memory::desc layout;
    for (int64_t block : {int64_t{0}, division_.blocks.parts - 1}) {
      const int64_t rows = division_.blocks.Size(block);
      if (!products_.empty() && products_.back().rows == rows) continue;
      products_.emplace_back(rows, w, tiles_.Points(), layout);
      layout = products_.back().descriptor.weights_desc();
    }
    const eigen::WinogradFilter shape = {turned ? w.out_channels : w.channels,
                                         turned ? w.channels : w.out_channels, turned};
    if (has_constant_) constant_ = *spec.Constant(static_cast<size_t>(inputs.filter));
    std::shared_ptr<PackedConstants::Entry> own;
    std::shared_ptr<PackedConstants::Entry>* entry = &own;
    if (has_constant_ && spec.packed != nullptr) {
      const std::vector<uint8_t> blob = layout.get_blob();
      entry = &spec.packed->At(constant_.Data(), "winograd" + std::to_string(tile_size) +
                                                     std::string(blob.begin(), blob.end()));
    }
    if (!*entry) *entry = std::make_shared<TransformedFilter>(shape, tiles_, layout, spec);
    filter_ = std::static_pointer_cast<TransformedFilter>(*entry);
  }

  // Has an activation follow the sum.
  void Activate(const Activation& activation) { activation_ = activation; }

  int Pieces() const override { return division_.Pieces(); }
  bool KeepsConstant(size_t input) const override {
    return has_constant_ && static_cast<int>(input) == inputs_.filter;
  }

  int PackingPieces() const override { return has_constant_ ? filter_->Pieces() : 0; }
  void PackPiece(ThreadPools& pools, int piece) override {
    if (piece < packed_) return;
    filter_->MakePiece(piece, constant_.Floats(), pools, &stream_);
    packed_ = piece + 1;
    if (packed_ == PackingPieces()) constant_ = Tensor();
  }

  void ComputePiece(KernelContext& context, int piece) override {
    while (packed_ < PackingPieces()) PackPiece(context.pools, packed_);
    if (!has_constant_ && piece == 0)
      filter_->Make(InputOf(context, inputs_.filter)->Floats(), context.pools, &stream_);
    if (division_.filter_is_a_piece && --piece < 0) return;
    const int64_t begin = division_.pieces.Begin(piece), end = division_.pieces.Begin(piece + 1);
    context.pools.intra().ParallelFor(static_cast<int>(end - begin), [&](int i) {
      ComputeBlock(context, division_.blocks.Begin(begin + i), division_.blocks.Size(begin + i));
    });
  }

 private:
  // The product of a block of so many tiles.
  struct Product {
    Product(int64_t of_rows, const Window& w, int64_t points, const memory::desc& packed)
        : rows(of_rows),
          left({points, rows, w.channels}, memory::data_type::f32, memory::format_tag::abc),
          result({points, rows, w.out_channels}, memory::data_type::f32, memory::format_tag::abc),
          descriptor(BatchReduced({{points, w.channels, w.out_channels},
                                   memory::data_type::f32,
                                   memory::format_tag::any},
                                  packed,
                                  [&](const memory::desc& filter) {
                                    return dnnl::matmul::primitive_desc(CpuEngine(), left, filter,
                                                                        result, Attributes());
                                  })),
          primitive(descriptor) {}

    int64_t rows;
    memory::desc left, result;
    dnnl::matmul::primitive_desc descriptor;
    dnnl::matmul primitive;
  };

  // body(begin, end) on parts of the tiles, one for each thread.
  template <typename Body>
  void ForTiles(ThreadPools& pools, int64_t tiles, Body body) const {
    const Division parts{tiles, std::min<int64_t>(division_.tasks, tiles)};
    pools.intra().ParallelFor(static_cast<int>(parts.parts),
                              [&](int part) { body(parts.Begin(part), parts.Begin(part + 1)); });
  }

  // Called by several threads at a time, each of which shares its block with those that have none.
  void ComputeBlock(const KernelContext& context, int64_t first, int64_t size) {
    const Product& product = products_.front().rows == size ? products_.front() : products_.back();
    const int64_t left = product.left.get_size() / sizeof(float),
                  result = product.result.get_size() / sizeof(float);
    const auto scratchpad = static_cast<int64_t>(product.descriptor.scratchpad_desc().get_size());
    auto* values = reinterpret_cast<float*>(context.pools.Scratch(
        static_cast<size_t>(left + result) * sizeof(float) + static_cast<size_t>(scratchpad)));
    float* products = values + left;
    ForTiles(context.pools, size, [&](int64_t begin, int64_t end) {
      eigen::TransformImages(window_, tiles_, first + begin, first + end,
                             InputOf(context, inputs_.image)->Floats(),
                             values + begin * window_.channels, size * window_.channels);
    });
    const memory left_memory(product.left, CpuEngine(), values),
        result_memory(product.result, CpuEngine(), products),
        scratchpad_memory(product.descriptor.scratchpad_desc(), CpuEngine(), products + result);
    const std::array<dnnl_exec_arg_t, 4> arguments = {
        {{DNNL_ARG_SRC, left_memory.get()},
         {DNNL_ARG_WEIGHTS, filter_->Memory().get()},
         {DNNL_ARG_DST, result_memory.get()},
         {DNNL_ARG_SCRATCHPAD, scratchpad_memory.get()}}};
    Execute(product.primitive, stream_, arguments);
    const Tensor* bias = InputOf(context, inputs_.bias);
    const Tensor* residual = InputOf(context, inputs_.residual);
    const eigen::WinogradOutput output = {
        context.outputs[0].Floats(), bias == nullptr ? nullptr : bias->Floats(),
        residual == nullptr ? nullptr : residual->Floats(), activation_};
    ForTiles(context.pools, size, [&](int64_t begin, int64_t end) {
      eigen::TransformProducts(window_, tiles_, first + begin, first + end,
                               products + begin * window_.out_channels, size * window_.out_channels,
                               output);
    });
  }

  const Window window_;
  const WinogradTiles tiles_;
  const WinogradDivision division_;
  const bool has_constant_;
  const Inputs inputs_;
  Activation activation_;
  dnnl::stream stream_;
  std::vector<Product> products_;  // A product for each of the one or two sizes of blocks.
  Tensor constant_;                // The filter; empty once it is transformed.
  int packed_ = 0;                 // Pieces of that.
  std::shared_ptr<TransformedFilter> filter_;
};

// The gradient for the image is a convolution, too: of the gradient of the output, with the filter
// turned and channels exchanged. REQUIRES: a stride of 1.
Window TurnedWindow(Window w) {
  std::swap(w.height, w.out_height);
  std::swap(w.width, w.out_width);
  std::swap(w.channels, w.out_channels);
  for (int64_t* pad : {&w.pad_top, &w.pad_bottom}) *pad = w.rows - 1 - *pad;
  for (int64_t* pad : {&w.pad_left, &w.pad_right}) *pad = w.columns - 1 - *pad;
  return w;
}

// w: of the sum; null where that is as fast.
std::unique_ptr<WinogradConvolution> MakeKernel(const KernelSpec& spec, const Window& w,
                                                WinogradUse use, bool turned,
                                                const Inputs& inputs) {
  if (spec.inputs[static_cast<size_t>(inputs.image)].type != DataType::kFloat) return nullptr;
  const int size = ChooseWinograd(w, BatchSeconds(w, spec.rates), ConditionsFor(spec, w, use));
  if (size == 0) return nullptr;
  return std::make_unique<WinogradConvolution>(spec, w, size, use, turned, inputs);
}

}  // namespace

std::unique_ptr<Kernel> MakeWinogradFusedConv2D(const KernelSpec& spec, const Window& w) {
  auto kernel = MakeKernel(spec, w, WinogradUse::kConstantFilter, /*turned=*/false,
                           {.image = 0, .filter = 1, .bias = 2, .residual = 3});
  if (kernel) kernel->Activate(ReadActivation(spec.node));
  return kernel;
}

std::unique_ptr<Kernel> MakeWinogradConv2D(const KernelSpec& spec, const Window& w) {
  return MakeKernel(spec, w, WinogradUse::kNewFilter, /*turned=*/false, {.image = 0, .filter = 1});
}

std::unique_ptr<Kernel> MakeWinogradConv2DBackpropInput(const KernelSpec& spec, const Window& w) {
  if (w.stride_height != 1 || w.stride_width != 1) return nullptr;
  return MakeKernel(spec, TurnedWindow(w), WinogradUse::kTurnedFilter, /*turned=*/true,
                    {.image = 1, .filter = 0});
}

}  // namespace cosched::onednn
