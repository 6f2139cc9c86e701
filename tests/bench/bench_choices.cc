// What it costs to choose between a convolution as a sum over its window and Winograd's filtering
// by an estimate: all 3x3 layers of all models on one thread, each computed in all three ways. A
// turn runs through all layers once, so that each finds the caches as in a network. The counters
// are the time of all layers, each as often as models have it, over that of the best way for each:
// under the fixed rates, under this machine's (engine/kernels/kernel_rates.h), never and always by
// Winograd's filtering with tiles of 2x2 or 4x4. 1 is the best. The argument is the batch.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "engine/kernels/kept_kernel_rates.h"
#include "engine/kernels/onednn/convolution.h"
#include "workloads/program.h"

namespace cosched {
namespace {

constexpr std::array<int, 3> kTiles = {0, 2, 4};  // 0: a sum over the window.

Tensor RandomValues(const OutputInfo& info) {
  Tensor tensor(info.shape, info.type);
  Random random(1);
  for (int64_t i = 0; i < tensor.Elements(); ++i)
    tensor.Floats()[i] = static_cast<float>(random.Uniform(-1, 1));
  return tensor;
}

class Layer {
 public:
  Layer(const Node& node, std::vector<OutputInfo> infos, ThreadPools* pools)
      : node_(node), infos_(std::move(infos)), pools_(*pools) {
    node_.control_inputs.clear();
    for (const OutputInfo& info : infos_) inputs_.push_back(RandomValues(info));
    for (const OutputInfo& info : node_.outputs) outputs_.emplace_back(info.shape, info.type);
    for (const Tensor& input : inputs_) pointers_.push_back(&input);
    const bool fused = node_.op == "_FusedConv2D";
    for (size_t i = 0; i < inputs_.size(); ++i)
      constants_.push_back(fused && (i == 1 || i == 2) ? &inputs_[i] : nullptr);
    for (const int tiles : kTiles) kernels_.push_back(CreateKernel(Spec(RatesThatChoose(tiles))));
  }

  int Choice(const KernelRates& rates) const {
    const KernelSpec spec = Spec(rates);
    Window w = WindowOf();
    WinogradUse use = WinogradUse::kConstantFilter;
    if (node_.op == "Conv2D") use = WinogradUse::kNewFilter;
    if (node_.op == "Conv2DBackpropInput") use = WinogradUse::kTurnedFilter;
    if (node_.op == "Conv2DBackpropFilter") use = WinogradUse::kFilterGradient;
    if (node_.op == "Conv2DBackpropInput") std::swap(w.channels, w.out_channels);
    const double direct = use == WinogradUse::kFilterGradient ? onednn::GradientSeconds(w, rates)
                                                              : onednn::BatchSeconds(w, rates);
    return ChooseWinograd(w, direct, onednn::ConditionsFor(spec, w, use));
  }
  Window WindowOf() const {
    if (node_.op == "Conv2DBackpropInput")
      return ConvolutionWindow(node_, node_.outputs[0].shape, infos_[0].shape);
    if (node_.op == "Conv2DBackpropFilter")
      return ConvolutionWindow(node_, infos_[0].shape, node_.outputs[0].shape);
    return ConvolutionWindow(node_, infos_[0].shape, infos_[1].shape);
  }
  // Whether there is one.
  bool HasChoice() const { return Choice(RatesThatChoose(4)) == 4; }

  void TakeTurn() {
    for (size_t i = 0; i < kTiles.size(); ++i) {
      KernelContext context{pointers_, outputs_, pools_};
      const auto start = std::chrono::steady_clock::now();
      kernels_[i]->Compute(context);
      seconds_[i] =
          std::min(seconds_[i],
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }
  double Seconds(int tiles) const { return seconds_[static_cast<size_t>(tiles / 2)]; }
  double Best() const { return *std::min_element(seconds_.begin(), seconds_.end()); }

 private:
  KernelSpec Spec(const KernelRates& rates) const {
    return {node_, infos_, pools_, kPieceTime, rates, constants_};
  }

  Node node_;
  const std::vector<OutputInfo> infos_;
  ThreadPools& pools_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<const Tensor*> pointers_, constants_;
  std::vector<std::unique_ptr<Kernel>> kernels_;  // By kTiles.
  std::array<double, 3> seconds_ = {1e9, 1e9, 1e9};
};

struct Counted {
  std::unique_ptr<Layer> layer;
  int count = 1;
};

std::map<std::string, Counted> LayersOf(Mode mode, int batch, ThreadPools* pools) {
  std::map<std::string, Counted> layers;
  for (const ModelInfo& model : Models()) {
    const ModelProgram program(model, {.mode = mode, .batch = batch});
    for (const Node& node : program.graph().Nodes()) {
      const bool convolution = node.op == "_FusedConv2D" || node.op == "Conv2D" ||
                               node.op == "Conv2DBackpropInput" ||
                               node.op == "Conv2DBackpropFilter";
      if (!convolution) continue;
      std::string key = node.op;
      std::vector<OutputInfo> infos;
      for (const Output& input : node.inputs) {
        infos.push_back(program.graph().Info(input));
        key += " " + infos.back().shape.ToString();
      }
      if (const auto known = layers.find(key); known != layers.end()) {
        ++known->second.count;
        continue;
      }
      auto layer = std::make_unique<Layer>(node, infos, pools);
      if (layer->HasChoice()) layers[key].layer = std::move(layer);
    }
  }
  return layers;
}

void Choices(benchmark::State& state, Mode mode) {
  ThreadPools pools({1, 1}, ThreadPools::Binding::kNone, nullptr);
  const auto layers = LayersOf(mode, static_cast<int>(state.range(0)), &pools);
  for (auto _ : state) {
    for (const auto& [key, counted] : layers) counted.layer->TakeTurn();
  }
  const KernelRates measured = ThisMachinesKernelRates().rates;
  std::map<std::string, double> sums;
  for (const auto& [key, counted] : layers) {
    const Layer& layer = *counted.layer;
    const auto add = [&](const char* name, double seconds) {
      sums[name] += counted.count * seconds;
    };
    add("best", layer.Best());
    add("fixed", layer.Seconds(layer.Choice({})));
    add("measured", layer.Seconds(layer.Choice(measured)));
    add("never", layer.Seconds(0));
    add("always_2", layer.Seconds(2));
    add("always_4", layer.Seconds(4));
  }
  for (const auto& [name, seconds] : sums) {
    if (name != "best") state.counters[name] = seconds / sums["best"];
  }
  state.counters["layers"] = static_cast<double>(layers.size());
}

BENCHMARK_CAPTURE(Choices, infer, Mode::kInfer)
    ->Arg(1)
    ->Arg(8)
    ->Iterations(15)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Choices, train, Mode::kTrain)
    ->Arg(8)
    ->Iterations(7)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
