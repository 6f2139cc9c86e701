// The measurement of this machine's rates: three of ResNet's 3x3 layers as sums over the window and
// the three steps of Winograd's filtering on a block of each, the gradients of their filters, and
// layers that are nothing but a filter.

#include "engine/kernels/kernel_rates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl_threadpool.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/kernels/eigen/memory_sum.h"
#include "engine/kernels/eigen/winograd_transforms.h"
#include "engine/kernels/onednn/convolution.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;

// Something that is timed, in turns with the others, and its best time so far.
struct Probe {
  std::function<void()> run;
  double seconds = 1e9;
};

void TakeTurn(Probe* probe) {
  constexpr std::chrono::milliseconds kTurn(2);
  const auto start = std::chrono::steady_clock::now();
  int runs = 0;
  std::chrono::steady_clock::duration elapsed{};
  do {
    probe->run();
    ++runs;
    elapsed = std::chrono::steady_clock::now() - start;
  } while (elapsed < kTurn);
  probe->seconds = std::min(probe->seconds, std::chrono::duration<double>(elapsed).count() / runs);
}

Tensor FilledWith(float value, const Shape& shape) {
  Tensor tensor(shape);
  std::fill_n(tensor.Floats(), tensor.Elements(), value);
  return tensor;
}

Tensor ValuesOf(const memory::desc& descriptor) {
  return FilledWith(0.5f, {static_cast<int64_t>(descriptor.get_size() / sizeof(float)) + 1});
}

// A primitive whose arguments have memory of their own.
class OwnMemory {
 public:
  OwnMemory(dnnl::primitive primitive, const std::vector<std::pair<int, memory::desc>>& arguments)
      : primitive_(std::move(primitive)) {
    for (const auto& [argument, descriptor] : arguments) {
      values_.push_back(ValuesOf(descriptor));
      arguments_.insert({argument, memory(descriptor, CpuEngine(), values_.back().Data())});
    }
  }
  void Run(dnnl::stream& stream) { primitive_.execute(stream, arguments_); }

 private:
  dnnl::primitive primitive_;
  std::vector<Tensor> values_;
  std::unordered_map<int, memory> arguments_;
};

OwnMemory SumOverWindow(const Window& w) {
  const Convolution c(w, DataType::kFloat);
  const dnnl::convolution_forward::primitive_desc descriptor = c.Forward(c.image, c.output);
  return {dnnl::convolution_forward(descriptor),
          {{DNNL_ARG_SRC, descriptor.src_desc()},
           {DNNL_ARG_WEIGHTS, descriptor.weights_desc()},
           {DNNL_ARG_DST, descriptor.dst_desc()},
           {DNNL_ARG_SCRATCHPAD, descriptor.scratchpad_desc()}}};
}

OwnMemory Products(const Window& w, int64_t points, int64_t rows) {
  const auto plain = memory::format_tag::abc;
  const auto f32 = memory::data_type::f32;
  const memory::desc left({points, rows, w.channels}, f32, plain);
  const memory::desc filter({points, w.channels, w.out_channels}, f32, memory::format_tag::any);
  const memory::desc result({points, rows, w.out_channels}, f32, plain);
  const auto descriptor = BatchReduced(filter, {}, [&](const memory::desc& packed) {
    return dnnl::matmul::primitive_desc(CpuEngine(), left, packed, result, Attributes());
  });
  return {dnnl::matmul(descriptor),
          {{DNNL_ARG_SRC, left},
           {DNNL_ARG_WEIGHTS, descriptor.weights_desc()},
           {DNNL_ARG_DST, result},
           {DNNL_ARG_SCRATCHPAD, descriptor.scratchpad_desc()}}};
}

// A kernel of Conv2D or one of its gradients, 3x3.
class Convolving {
 public:
  // tensors: of the two inputs and the output.
  Convolving(std::string op, std::array<Shape, 3> tensors, const KernelRates& rates,
             ThreadPools* pools)
      : pools_(*pools) {
    using Ints = std::vector<int64_t>;
    Node node;
    node.op = std::move(op);
    node.attributes = {{"strides", Ints{1, 1}},
                       {"dilations", Ints{1, 1}},
                       {"padding", std::string("SAME")},
                       {"explicit_paddings", Ints{}}};
    node.outputs = {{tensors[2]}};
    for (const Shape& shape : {tensors[0], tensors[1]}) inputs_.push_back(FilledWith(0.5f, shape));
    outputs_.push_back(FilledWith(0.5f, tensors[2]));
    for (const Tensor& input : inputs_) pointers_.push_back(&input);
    kernel_ = CreateKernel({node, {{tensors[0]}, {tensors[1]}}, pools_, kPieceTime, rates});
  }
  Convolving(const Convolving&) = delete;
  Convolving& operator=(const Convolving&) = delete;

  void Run() {
    KernelContext context{pointers_, outputs_, pools_};
    kernel_->Compute(context);
  }

 private:
  ThreadPools& pools_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<const Tensor*> pointers_;
  std::unique_ptr<Kernel> kernel_;
};

// Gradients of filters as sums over windows, of some images.
class GradientProbe : public Probe {
 public:
  GradientProbe(const Window& w, ThreadPools* pools)
      : Probe{[this] { gradient_.Run(); }},
        flops_(2.0 * 9 * static_cast<double>(kImages * w.OutputElements() * w.channels)),
        gradient_("Conv2DBackpropFilter",
                  {Shape{kImages, w.height, w.width, w.channels},
                   Shape{kImages, w.out_height, w.out_width, w.out_channels},
                   Shape{3, 3, w.channels, w.out_channels}},
                  RatesThatChoose(0), pools) {}

  double Flops() const { return flops_ / seconds; }  // In a second.

 private:
  static constexpr int64_t kImages = 2;

  const double flops_;
  Convolving gradient_;
};

// A layer of one tile, so that its filter takes all of the time. It is larger than the caches.
class FilterProbe : public Probe {
 public:
  FilterProbe(const char* op, ThreadPools* pools)
      : Probe{[this] { convolution_.Run(); }},
        convolution_(op, Tensors(op), RatesThatChoose(4), pools) {}

  double Bytes() const {  // Bytes of the transformed filter, in a second.
    constexpr double kPoints = 36;
    return kPoints * kChannels * kChannels * sizeof(float) / seconds;
  }

 private:
  static constexpr int64_t kChannels = 384;
  static std::array<Shape, 3> Tensors(std::string_view op) {
    const Shape image{1, 4, 4, kChannels}, filter{3, 3, kChannels, kChannels};
    if (op == "Conv2D") return {image, filter, image};
    if (op == "Conv2DBackpropInput") return {filter, image, image};
    return {image, image, filter};
  }

  Convolving convolution_;
};

// One layer's probes, and how much each of them does.
class LayerProbes {
 public:
  LayerProbes(const Window& w, dnnl::stream* stream)
      : window_(w),
        tiles_2_(w, 2),
        tiles_4_(w, 4),
        rows_(DivideWinograd(w, tiles_4_, {}).blocks.Size(0)),
        image_(FilledWith(0.5f, {w.ImageElements()})),
        output_(FilledWith(0.5f, {w.OutputElements()})),
        values_(FilledWith(0.5f, {tiles_4_.Points() * rows_ * w.channels})),
        sum_(SumOverWindow(w)),
        products_(Products(w, tiles_4_.Points(), rows_)),
        probes_{{[this, stream] { sum_.Run(*stream); }},
                {[this, stream] { products_.Run(*stream); }},
                {[this] { Transform(tiles_2_); }},
                {[this] { Transform(tiles_4_); }}} {}
  LayerProbes(const LayerProbes&) = delete;
  LayerProbes& operator=(const LayerProbes&) = delete;

  std::vector<Probe>& Probes() { return probes_; }

  // In a second.
  double WindowFlops() const {
    return 2.0 * 9 * static_cast<double>(window_.OutputElements() * window_.channels) /
           probes_[0].seconds;
  }
  double ProductFlops() const {
    return 2.0 * static_cast<double>(tiles_4_.Points() * rows_ * window_.channels) *
           static_cast<double>(window_.out_channels) / probes_[1].seconds;
  }
  // For a tile of one channel, in or out.
  double Transform2Seconds() const { return probes_[2].seconds / Transforms(tiles_2_); }
  double Transform4Seconds() const { return probes_[3].seconds / Transforms(tiles_4_); }

 private:
  int64_t BlockOf(const WinogradTiles& tiles) const { return std::min(rows_, tiles.tiles); }
  double Transforms(const WinogradTiles& tiles) const {
    return static_cast<double>(BlockOf(tiles) * (window_.channels + window_.out_channels));
  }
  void Transform(const WinogradTiles& tiles) {
    const int64_t rows = BlockOf(tiles), stride = rows * window_.channels;
    eigen::TransformImages(window_, tiles, 0, rows, image_.Floats(), values_.Floats(), stride);
    eigen::TransformProducts(window_, tiles, 0, rows, values_.Floats(), stride, {output_.Floats()});
  }

  const Window window_;
  const WinogradTiles tiles_2_, tiles_4_;
  const int64_t rows_;  // Rows of a block.
  Tensor image_, output_, values_;
  OwnMemory sum_, products_;
  std::vector<Probe> probes_;
};

// Memory that no cache of one core holds, copied and read.
class MemoryProbes {
 public:
  MemoryProbes()
      : from_(FilledWith(0.5f, {kElements})),
        to_(FilledWith(0.5f, {kElements})),
        probes_{{[this] { std::copy_n(from_.Floats(), kElements, to_.Floats()); }},
                {[this] { sum_ = eigen::MemorySum(from_.Floats(), kElements); }}} {}
  MemoryProbes(const MemoryProbes&) = delete;
  MemoryProbes& operator=(const MemoryProbes&) = delete;

  std::vector<Probe>& Probes() { return probes_; }
  double CopiedBytes() const { return 2 * kBytes / probes_[0].seconds; }
  double ReadBytes() const { return kBytes / probes_[1].seconds; }

 private:
  static constexpr int64_t kElements = 8 << 20;
  static constexpr double kBytes = kElements * sizeof(float);

  Tensor from_, to_;
  volatile float sum_ = 0;  // So that it is computed.
  std::vector<Probe> probes_;
};

// The mean of the layers' rates: as much work of each.
template <typename Layers, typename Rate>
double HarmonicMean(const Layers& layers, Rate rate) {
  double sum = 0;
  for (const auto& layer : layers) sum += 1 / (*layer.*rate)();
  return static_cast<double>(layers.size()) / sum;
}
template <typename Layers, typename Seconds>
double Mean(const Layers& layers, Seconds seconds) {
  double sum = 0;
  for (const auto& layer : layers) sum += (*layer.*seconds)();
  return sum / static_cast<double>(layers.size());
}

}  // namespace
}  // namespace cosched::onednn

namespace cosched {

KernelRates MeasureKernelRates() {
  using onednn::FilterProbe;
  using onednn::GradientProbe;
  using onednn::LayerProbes;
  constexpr int kTurns = 7;
  constexpr double kOfACopy = 0.5;  // See KernelRates::memory_bytes.
  ThreadPools pools({1, 1}, ThreadPools::Binding::kNone, nullptr);
  const onednn::CapacityScope scope(1);
  auto stream =
      dnnl::threadpool_interop::make_stream(onednn::CpuEngine(), &pools.onednn(scope.Tasks()));
  std::vector<std::unique_ptr<LayerProbes>> layers;
  std::vector<std::unique_ptr<GradientProbe>> gradients;
  for (const auto& [side, channels] : {std::pair(56, 64), std::pair(28, 128), std::pair(14, 256)}) {
    layers.push_back(std::make_unique<LayerProbes>(SquareLayer(side, channels), &stream));
    gradients.push_back(std::make_unique<GradientProbe>(SquareLayer(side, channels), &pools));
  }
  FilterProbe new_filter("Conv2D", &pools), turned_filter("Conv2DBackpropInput", &pools),
      summed_filter("Conv2DBackpropFilter", &pools);
  onednn::MemoryProbes memory;
  std::vector<onednn::Probe*> probes = {&new_filter, &turned_filter, &summed_filter};
  for (const auto& gradient : gradients) probes.push_back(gradient.get());
  for (const auto& layer : layers)
    for (onednn::Probe& probe : layer->Probes()) probes.push_back(&probe);
  for (onednn::Probe& probe : memory.Probes()) probes.push_back(&probe);
  for (int turn = 0; turn < kTurns; ++turn)
    for (onednn::Probe* probe : probes) TakeTurn(probe);
  return {.window_flops = HarmonicMean(layers, &LayerProbes::WindowFlops),
          .gradient_flops = HarmonicMean(gradients, &GradientProbe::Flops),
          .product_flops = HarmonicMean(layers, &LayerProbes::ProductFlops),
          .memory_bytes = kOfACopy * memory.CopiedBytes(),
          .filter_bytes = memory.ReadBytes(),
          .new_filter_bytes = new_filter.Bytes(),
          .turned_filter_bytes = turned_filter.Bytes(),
          .summed_filter_bytes = summed_filter.Bytes(),
          .transform_2_seconds = Mean(layers, &LayerProbes::Transform2Seconds),
          .transform_4_seconds = Mean(layers, &LayerProbes::Transform4Seconds),
          .lanes = CpuLanes()};
}

}  // namespace cosched
