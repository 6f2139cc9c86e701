// Conv2DBackpropFilter of 3x3 windows by Winograd's minimal filtering: for each of its points the
// product of transformed images and gradients, summed over blocks of tiles in order, and
// transformed back in the last piece.

#include <algorithm>
#include <oneapi/dnnl/dnnl_threadpool.hpp>

#include "engine/kernels/eigen/winograd_transforms.h"
#include "engine/kernels/onednn/convolution.h"
#include "engine/kernels/onednn/winograd_convolution.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;
constexpr size_t kImage = 0, kGradient = 1;

class WinogradWeightGradient : public Kernel {
 public:
  WinogradWeightGradient(const KernelSpec& spec, const Window& w, int tile_size)
      : window_(w),
        tiles_(w, tile_size),
        division_(DivideWinograd(w, tiles_, ConditionsFor(spec, w, WinogradUse::kFilterGradient))),
        sum_(Shape{tiles_.Points(), w.channels, w.out_channels}),
        stream_(dnnl::threadpool_interop::make_stream(CpuEngine(),
                                                      &spec.pools.onednn(division_.tasks))) {
    const CapacityScope scope(division_.tasks);
    for (int64_t block : {int64_t{0}, division_.blocks.parts - 1}) {
      for (bool adds : {false, true}) {
        const int64_t tiles = division_.blocks.Size(block);
        if (FindProduct(tiles, adds) == nullptr)
          products_.emplace_back(tiles, adds, w, tiles_.Points());
      }
    }
  }

  int Pieces() const override { return division_.Pieces(); }

  void ComputePiece(KernelContext& context, int piece) override {
    const int64_t end =
        division_.pieces.Begin(std::min<int64_t>(piece + 1, division_.pieces.parts));
    for (int64_t block = division_.pieces.Begin(piece); block < end; ++block)
      AddBlock(context, block);
    if (piece + 1 == Pieces()) TakeSum(context);
  }

 private:
  // The product of a block of so many tiles; `adds` to the sum, or begins it.
  struct Product {
    Product(int64_t of_tiles, bool adds_to_sum, const Window& w, int64_t points)
        : tiles(of_tiles),
          adds(adds_to_sum),
          left({points, w.channels, tiles}, memory::data_type::f32, memory::format_tag::acb),
          right({points, tiles, w.out_channels}, memory::data_type::f32, memory::format_tag::abc),
          sum({points, w.channels, w.out_channels}, memory::data_type::f32,
              memory::format_tag::abc),
          descriptor(CpuEngine(), left, right, sum, WithSum(adds)),
          primitive(descriptor) {}

    static dnnl::primitive_attr WithSum(bool adds) {
      dnnl::post_ops post_ops;
      if (adds) post_ops.append_sum();
      dnnl::primitive_attr attributes = Attributes();
      attributes.set_post_ops(post_ops);
      return attributes;
    }

    int64_t tiles;
    bool adds;
    memory::desc left, right, sum;
    dnnl::matmul::primitive_desc descriptor;
    dnnl::matmul primitive;
  };

  const Product* FindProduct(int64_t tiles, bool adds) const {
    const auto found = std::find_if(
        products_.begin(), products_.end(),
        [&](const Product& product) { return product.tiles == tiles && product.adds == adds; });
    return found == products_.end() ? nullptr : &*found;
  }

  void AddBlock(KernelContext& context, int64_t block) {
    const int64_t first = division_.blocks.Begin(block), size = division_.blocks.Size(block);
    const Product& product = *FindProduct(size, block > 0);
    const auto left = static_cast<int64_t>(product.left.get_size() / sizeof(float)),
               right = static_cast<int64_t>(product.right.get_size() / sizeof(float));
    const memory::desc scratchpad = product.descriptor.scratchpad_desc();
    auto* images = reinterpret_cast<float*>(context.pools.Scratch(
        static_cast<size_t>(left + right) * sizeof(float) + scratchpad.get_size()));
    float* gradients = images + left;
    const Division parts{size, std::min<int64_t>(division_.tasks, size)};
    context.pools.intra().ParallelFor(static_cast<int>(parts.parts), [&](int part) {
      const int64_t begin = parts.Begin(part), end = parts.Begin(part + 1);
      eigen::TransformImages(window_, tiles_, first + begin, first + end,
                             context.inputs[kImage]->Floats(), images + begin * window_.channels,
                             size * window_.channels);
      eigen::TransformGradients(
          window_, tiles_, first + begin, first + end, context.inputs[kGradient]->Floats(),
          gradients + begin * window_.out_channels, size * window_.out_channels);
    });
    product.primitive.execute(
        stream_, {{DNNL_ARG_SRC, memory(product.left, CpuEngine(), images)},
                  {DNNL_ARG_WEIGHTS, memory(product.right, CpuEngine(), gradients)},
                  {DNNL_ARG_DST, memory(product.sum, CpuEngine(), sum_.Data())},
                  {DNNL_ARG_SCRATCHPAD, memory(scratchpad, CpuEngine(), gradients + right)}});
  }

  void TakeSum(KernelContext& context) const {
    const eigen::WinogradFilter shape = {window_.channels, window_.out_channels, /*turned=*/false};
    context.pools.intra().ParallelFor(static_cast<int>(window_.channels), [&](int row) {
      eigen::TransformFilterGradient(tiles_.size, shape, row, row + 1, sum_.Floats(),
                                     context.outputs[0].Floats());
    });
  }

  const Window window_;
  const WinogradTiles tiles_;
  const WinogradDivision division_;
  Tensor sum_;  // By point.
  dnnl::stream stream_;
  std::vector<Product> products_;
};

}  // namespace

std::unique_ptr<Kernel> MakeWinogradConv2DBackpropFilter(const KernelSpec& spec, const Window& w) {
  if (spec.inputs[kImage].type != DataType::kFloat) return nullptr;
  const int size = ChooseWinograd(w, GradientSeconds(w, spec.rates),
                                  ConditionsFor(spec, w, WinogradUse::kFilterGradient));
  if (size == 0) return nullptr;
  return std::make_unique<WinogradWeightGradient>(spec, w, size);
}

}  // namespace cosched::onednn
