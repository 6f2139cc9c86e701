// Speed of the kernels of ResNet-20 (batch 32) and LeNet (batch 64): GFLOP/s of convolutions and
// products, GB/s of ops that only move memory. The argument is the number of threads; capacity is
// the same, as work is divided for it. oneDNN alone reaches the figures of reference/engine.md;
// what is far below it is our glue.

#include <benchmark/benchmark.h>

#include "engine/base/random.h"
#include "engine/graph/graph.h"
#include "engine/kernels/kernel.h"
#include "engine/pool/thread_pools.h"

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

void RunOp(benchmark::State& state, const BenchedOp& benched) {
  const int threads = static_cast<int>(state.range(0));
  ThreadPools pools({1, threads}, ThreadPools::Binding::kNone, nullptr);
  pools.Resize(CpuSet::Range(0, threads - 1), {1, threads});
  Graph graph;
  Random random(1);
  std::vector<Output> nodes;
  std::vector<OutputInfo> infos;
  std::vector<Tensor> inputs, outputs;
  for (const Shape& shape : benched.inputs) {
    Tensor& input = inputs.emplace_back(shape);
    for (int64_t i = 0; i < input.Elements(); ++i)
      input.Floats()[i] = static_cast<float>(random.Uniform());
    nodes.push_back({graph.Add("VariableV2", "", {}, {{"initial", input}})});
    infos.push_back({shape});
  }
  const Node& node = graph.At(graph.Add(benched.op, "op", nodes, benched.attributes));
  for (const OutputInfo& info : node.outputs) outputs.emplace_back(info.shape, info.type);
  if (benched.op == "ApplyMomentum") outputs[0] = inputs[0];
  const auto kernel = CreateKernel({node, infos, pools});
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  KernelContext context{pointers, outputs, pools};
  kernel->Compute(context);  // Caches.
  for (auto _ : state) kernel->Compute(context);
  size_t bytes = 0;
  for (const auto* tensors : {&inputs, &outputs})
    for (const Tensor& tensor : *tensors) bytes += tensor.Bytes();
  const double steps = static_cast<double>(state.iterations());
  const double work = (benched.flops > 0 ? benched.flops : static_cast<double>(bytes)) * steps;
  state.counters[benched.flops > 0 ? "FLOP/s" : "B/s"] =
      benchmark::Counter(work, benchmark::Counter::kIsRate);
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
  const auto product = [&](const std::string& name, int64_t m, int64_t n, int64_t k, bool ta,
                           bool tb) {
    ops.push_back({name,
                   "MatMul",
                   {ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n}},
                   {{"transpose_a", ta}, {"transpose_b", tb}},
                   2.0 * static_cast<double>(m * n * k)});
  };
  product("lenet_forward", 64, 120, 400, false, false);
  product("lenet_backward_data", 64, 400, 120, false, true);
  product("lenet_backward_weights", 400, 120, 64, true, false);
  product("alexnet_forward", 32, 4096, 9216, false, false);
  product("alexnet_backward_data", 32, 9216, 4096, false, true);
  product("alexnet_backward_weights", 9216, 4096, 32, true, false);
  const Attributes momentum{{"learning_rate", 0.1f}, {"momentum", 0.9f}, {"weight_decay", 1e-4f}};
  for (const Shape& shape : {Shape{3, 3, 64, 64}, Shape{2048, 4096}})
    ops.push_back({shape.ToString(), "ApplyMomentum", {shape, shape, shape}, momentum});
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
  return true;
}();

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
