// Speed of the kernels of ResNet-20 (batch 32) and LeNet (batch 64): GFLOP/s of convolutions and
// products, GB/s of ops that only move memory. The argument is the number of threads; capacity is
// the same, as work is divided for it. What is far below the machine's peak is our glue.
// "Pieces/..." compares long ops cut into pieces with the same ops whole: "cost" should be 1.02 at
// most.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "engine/base/random.h"
#include "engine/graph/graph.h"
#include "engine/kernels/kernel.h"
#include "engine/pool/thread_pools.h"
#include "tests/bench/processor_time.h"
#include "tests/bench/quantile.h"

namespace cosched {
namespace {

using Attributes = std::map<std::string, Attribute>;
using Ints = std::vector<int64_t>;

struct BenchedOp {
  std::string name;
  std::string op;
  std::vector<Shape> inputs;
  Attributes attributes;
  double flops = 0;  // 0: report bytes instead.
};

// A benched op with its tensors, and as many kernels for it as are compared.
class Bench {
 public:
  Bench(const BenchedOp& benched, int threads)
      : benched_(benched), pools_({1, threads}, ThreadPools::Binding::kNone, nullptr) {
    pools_.Resize(CpuSet::Range(0, threads - 1), {1, threads});
    Random random(1);
    std::vector<Output> nodes;
    for (const Shape& shape : benched.inputs) {
      Tensor& input = inputs_.emplace_back(shape);
      for (int64_t i = 0; i < input.Elements(); ++i)
        input.Floats()[i] = static_cast<float>(random.Uniform());
      nodes.push_back({graph_.Add("VariableV2", "", {}, {{"initial", input}})});
      infos_.push_back({shape});
    }
    node_ = &graph_.At(graph_.Add(benched.op, "op", nodes, benched.attributes));
    for (const OutputInfo& info : node_->outputs) outputs_.emplace_back(info.shape, info.type);
    if (benched.op == "ApplyMomentum") outputs_[0] = inputs_[0];
    for (const Tensor& input : inputs_) pointers_.push_back(&input);
  }

  std::unique_ptr<Kernel> Create(std::chrono::microseconds piece_time) {
    auto kernel = CreateKernel({*node_, infos_, pools_, piece_time});
    Compute(*kernel);  // Caches.
    return kernel;
  }
  void Compute(Kernel& kernel) {
    KernelContext context = Context();
    kernel.Compute(context);
  }
  KernelContext Context() { return {pointers_, outputs_, pools_}; }
  // The work of one computation, and its unit.
  std::pair<double, std::string> Work() const {
    if (benched_.flops > 0) return {benched_.flops, "FLOP/s"};
    size_t bytes = 0;
    for (const auto* tensors : {&inputs_, &outputs_})
      for (const Tensor& tensor : *tensors) bytes += tensor.Bytes();
    return {static_cast<double>(bytes), "B/s"};
  }

 private:
  const BenchedOp& benched_;
  ThreadPools pools_;
  Graph graph_;
  std::vector<OutputInfo> infos_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<const Tensor*> pointers_;
  const Node* node_ = nullptr;
};

void RunOp(benchmark::State& state, const BenchedOp& benched) {
  Bench bench(benched, static_cast<int>(state.range(0)));
  const auto kernel = bench.Create(kPieceTime);
  for (auto _ : state) bench.Compute(*kernel);
  const auto [work, unit] = bench.Work();
  state.counters[unit] = benchmark::Counter(work * static_cast<double>(state.iterations()),
                                            benchmark::Counter::kIsRate);
}

struct Taken {
  double seconds = 0, cpu_seconds = 0;
};

Taken Measure(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  const double cpu_start = ProcessorSeconds();
  run();
  const double cpu = ProcessorSeconds() - cpu_start;
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), cpu};
}

// The op cut into pieces and whole, in turns. "cost" is the median of the ratios of neighbours,
// "cpu_cost" the same in CPU time of all threads, for machines that are not idle; "piece" and
// "longest" are medians of what pieces take.
void RunPieces(benchmark::State& state, const BenchedOp& benched) {
  Bench bench(benched, static_cast<int>(state.range(0)));
  const auto cut = bench.Create(kPieceTime), whole = bench.Create(std::chrono::microseconds(0));
  const auto pieces = static_cast<size_t>(cut->Pieces());
  std::vector<double> ratios, cpu_ratios, wholes;
  std::vector<std::vector<double>> by_piece(pieces);
  bool cut_first = false;
  const auto run_pieces = [&] { bench.Compute(*cut); };
  for (auto _ : state) {
    cut_first = !cut_first;
    Taken in_pieces;
    if (cut_first) in_pieces = Measure(run_pieces);
    const Taken in_one = Measure([&] { bench.Compute(*whole); });
    if (!cut_first) in_pieces = Measure(run_pieces);
    wholes.push_back(in_one.seconds);
    ratios.push_back(in_pieces.seconds / in_one.seconds);
    cpu_ratios.push_back(in_pieces.cpu_seconds / in_one.cpu_seconds);
    state.SetIterationTime(in_pieces.seconds);
    KernelContext context = bench.Context();
    for (size_t i = 0; i < pieces; ++i) {
      const auto piece = [&] { cut->ComputePiece(context, static_cast<int>(i)); };
      by_piece[i].push_back(Measure(piece).seconds);
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& times : by_piece) medians.push_back(Median(times));
  state.counters["pieces"] = static_cast<double>(pieces);
  state.counters["cost"] = Median(ratios);
  state.counters["cpu_cost"] = Median(cpu_ratios);
  state.counters["whole_ms"] = Median(wholes) * 1e3;
  state.counters["piece_ms"] = Median(medians) * 1e3;
  state.counters["longest_ms"] = *std::max_element(medians.begin(), medians.end()) * 1e3;
}

void AddConvolution(const std::string& name, const Shape& image, const Shape& filter,
                    int64_t stride, const std::string& padding, std::vector<BenchedOp>* ops) {
  const auto slide = [&](int64_t input, int64_t window) {
    return padding == "SAME" ? (input + stride - 1) / stride : (input - window) / stride + 1;
  };
  const Shape y{image[0], slide(image[1], filter[0]), slide(image[2], filter[1]), filter[3]};
  const double flops = 2.0 * static_cast<double>(y.Elements() * filter[0] * filter[1] * filter[2]);
  const Attributes geometry{{"strides", Ints{stride, stride}}, {"padding", padding}};
  Attributes input = geometry, weights = geometry;
  input["input_shape"] = image.Sizes();
  weights["filter_shape"] = filter.Sizes();
  ops->push_back({"forward/" + name, "Conv2D", {image, filter}, geometry, flops});
  ops->push_back({"backward_data/" + name, "Conv2DBackpropInput", {filter, y}, input, flops});
  ops->push_back({"backward_weights/" + name, "Conv2DBackpropFilter", {image, y}, weights, flops});
}

void AddProduct(const std::string& name, int64_t m, int64_t n, int64_t k, bool transpose_a,
                bool transpose_b, std::vector<BenchedOp>* ops) {
  ops->push_back(
      {name,
       "MatMul",
       {transpose_a ? Shape{k, m} : Shape{m, k}, transpose_b ? Shape{n, k} : Shape{k, n}},
       {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}},
       2.0 * static_cast<double>(m * n * k)});
}

std::vector<BenchedOp> Ops() {
  std::vector<BenchedOp> ops;
  AddConvolution("resnet_3_16_32x32", {32, 32, 32, 3}, {3, 3, 3, 16}, 1, "SAME", &ops);
  AddConvolution("resnet_16_16_32x32", {32, 32, 32, 16}, {3, 3, 16, 16}, 1, "SAME", &ops);
  AddConvolution("resnet_16_32_stride2", {32, 32, 32, 16}, {3, 3, 16, 32}, 2, "SAME", &ops);
  AddConvolution("resnet_16_32_projection", {32, 32, 32, 16}, {1, 1, 16, 32}, 2, "SAME", &ops);
  AddConvolution("resnet_32_32_16x16", {32, 16, 16, 32}, {3, 3, 32, 32}, 1, "SAME", &ops);
  AddConvolution("resnet_32_64_stride2", {32, 16, 16, 32}, {3, 3, 32, 64}, 2, "SAME", &ops);
  AddConvolution("resnet_64_64_8x8", {32, 8, 8, 64}, {3, 3, 64, 64}, 1, "SAME", &ops);
  AddConvolution("resnet_64_64_8x8_one_image", {1, 8, 8, 64}, {3, 3, 64, 64}, 1, "SAME", &ops);
  AddConvolution("lenet_1_6_28x28", {64, 28, 28, 1}, {5, 5, 1, 6}, 1, "SAME", &ops);
  AddConvolution("lenet_6_16_14x14", {64, 14, 14, 6}, {5, 5, 6, 16}, 1, "VALID", &ops);
  AddConvolution("vgg_64_64_56x56", {8, 56, 56, 64}, {3, 3, 64, 64}, 1, "SAME", &ops);
  const Attributes pool{{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"padding", "VALID"}};
  const Shape lenet{64, 28, 28, 6}, pooled{64, 14, 14, 6};
  ops.push_back({"lenet", "MaxPool", {lenet}, pool});
  ops.push_back({"lenet", "MaxPoolGrad", {lenet, pooled, pooled}, pool});
  ops.push_back({"lenet", "BiasAdd", {lenet, {6}}, {}});
  ops.push_back({"lenet", "BiasAddGrad", {lenet}, {}});
  ops.push_back(
      {"large", "MaxPoolGrad", {{8, 56, 56, 64}, {8, 28, 28, 64}, {8, 28, 28, 64}}, pool});
  for (const Shape& image : {Shape{32, 32, 32, 16}, Shape{32, 8, 8, 64}}) {
    const std::string name = std::to_string(image[3]);
    const Shape c{image[3]};
    const Attributes norm{{"epsilon", 1e-5f}};
    Attributes training = norm;
    training["is_training"] = true;
    ops.push_back({name, "FusedBatchNormV3", {image, c, c, c, c}, training});
    ops.push_back({name, "FusedBatchNormGradV3", {image, image, c, c, c}, norm});
    ops.push_back({name, "Relu", {image}, {}});
    ops.push_back({name, "ReluGrad", {image, image}, {}});
    ops.push_back({name, "AddV2", {image, image}, {}});
    ops.push_back({name, "BiasAdd", {image, c}, {}});
    ops.push_back({name, "BiasAddGrad", {image}, {}});
    ops.push_back({name, "Mean", {image}, {{"axes", Ints{1, 2}}}});
  }
  ops.push_back({"head",
                 "MeanGrad",
                 {{32, 64}},
                 {{"axes", Ints{1, 2}}, {"input_shape", Ints{32, 8, 8, 64}}}});
  AddProduct("lenet_forward", 64, 120, 400, false, false, &ops);
  AddProduct("lenet_backward_data", 64, 400, 120, false, true, &ops);
  AddProduct("lenet_backward_weights", 400, 120, 64, true, false, &ops);
  AddProduct("alexnet_forward", 32, 4096, 9216, false, false, &ops);
  AddProduct("alexnet_backward_data", 32, 9216, 4096, false, true, &ops);
  AddProduct("alexnet_backward_weights", 9216, 4096, 32, true, false, &ops);
  const Attributes momentum{{"learning_rate", 0.1f}, {"momentum", 0.9f}, {"weight_decay", 1e-4f}};
  for (const Shape& shape : {Shape{3, 3, 64, 64}, Shape{2048, 4096}})
    ops.push_back({shape.ToString(), "ApplyMomentum", {shape, shape, shape}, momentum});
  return ops;
}

std::vector<BenchedOp> LongOps() {
  std::vector<BenchedOp> ops;
  AddConvolution("3x3_64_56x56_b100", {100, 56, 56, 64}, {3, 3, 64, 64}, 1, "SAME", &ops);
  AddConvolution("3x3_64_224x224_b1", {1, 224, 224, 64}, {3, 3, 64, 64}, 1, "SAME", &ops);
  AddConvolution("3x3_256_14x14_b32", {32, 14, 14, 256}, {3, 3, 256, 256}, 1, "SAME", &ops);
  AddConvolution("3x3_512_7x7_b32", {32, 7, 7, 512}, {3, 3, 512, 512}, 1, "SAME", &ops);
  AddConvolution("1x1_64_256_56x56_b32", {32, 56, 56, 64}, {1, 1, 64, 256}, 1, "SAME", &ops);
  for (int64_t batch : {32, 128}) {
    const std::string name = "resnet20_b" + std::to_string(batch) + "_";
    AddConvolution(name + "16", {batch, 32, 32, 16}, {3, 3, 16, 16}, 1, "SAME", &ops);
    AddConvolution(name + "32", {batch, 16, 16, 32}, {3, 3, 32, 32}, 1, "SAME", &ops);
    AddConvolution(name + "64", {batch, 8, 8, 64}, {3, 3, 64, 64}, 1, "SAME", &ops);
  }
  AddConvolution("lenet_1_b64", {64, 28, 28, 1}, {5, 5, 1, 6}, 1, "SAME", &ops);
  AddConvolution("lenet_2_b64", {64, 14, 14, 6}, {5, 5, 6, 16}, 1, "VALID", &ops);
  AddProduct("1024_1024_4096", 1024, 1024, 4096, false, false, &ops);
  AddProduct("1024_1024_4096_ta", 1024, 1024, 4096, true, false, &ops);
  AddProduct("1024_1024_4096_tb", 1024, 1024, 4096, false, true, &ops);
  AddProduct("alexnet_forward", 32, 4096, 9216, false, false, &ops);
  AddProduct("alexnet_backward_weights", 9216, 4096, 32, true, false, &ops);
  const Shape large{100, 56, 56, 64}, c{64};
  const Attributes window{{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"padding", "VALID"}};
  ops.push_back({"large", "Relu", {large}, {}});
  ops.push_back({"large", "AddV2", {large, large}, {}});
  ops.push_back({"large", "MaxPool", {large}, window});
  ops.push_back({"large", "MaxPoolGrad", {large, {100, 28, 28, 64}, {100, 28, 28, 64}}, window});
  ops.push_back({"large",
                 "FusedBatchNormV3",
                 {large, c, c, c, c},
                 {{"epsilon", 1e-5f}, {"is_training", false}}});
  for (const Shape& image : {large, Shape{128, 32, 32, 16}}) {
    const Shape channels{image[3]};
    const std::string name = "training_" + std::to_string(image[3]);
    ops.push_back({name,
                   "FusedBatchNormV3",
                   {image, channels, channels, channels, channels},
                   {{"epsilon", 1e-5f}, {"is_training", true}}});
    ops.push_back({name,
                   "FusedBatchNormGradV3",
                   {image, image, channels, channels, channels},
                   {{"epsilon", 1e-5f}}});
  }
  return ops;
}

const bool kRegistered = [] {
  for (const BenchedOp& op : Ops())
    benchmark::RegisterBenchmark((op.op + "/" + op.name).c_str(),
                                 [op](benchmark::State& state) { RunOp(state, op); })
        ->Arg(1)
        ->Arg(2)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  for (const BenchedOp& op : LongOps())
    benchmark::RegisterBenchmark(("Pieces/" + op.op + "/" + op.name).c_str(),
                                 [op](benchmark::State& state) { RunPieces(state, op); })
        ->Arg(1)
        ->Arg(2)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
