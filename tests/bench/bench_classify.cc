// What it costs to cut a network into stages, and how many images a second are classified.
//
//   cut/MODEL/THREADS     the network alone, on images that are preprocessed: as a pipeline of 1, 2
//                         and 4 parts, beside one session of the uncut network that is fed whole
//                         batches. All of them in each iteration, in turn, in another order each
//                         time. uncut_per_s: images a second of the session; parts_K: how fast K
//                         parts are beside it (1: as fast), cpu_K: by processor time, which other
//                         programs disturb less; each the median of the iterations.
//   whole/MODEL/THREADS/K files in memory to classes, with K parts: images a second.
//
// Batches of 4, requests of 8 images, two of them open. A pipeline computes two batches side by side
// on two threads, the session one with two threads.
//
// Run by hand, on an idle machine: bench_classify

#include <benchmark/benchmark.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "engine/gates/pipeline.h"
#include "engine/session/session.h"
#include "tests/bench/processor_time.h"
#include "tests/bench/quantile.h"
#include "workloads/batch_networks.h"
#include "workloads/model.h"
#include "workloads/pipelines/classify.h"

namespace cosched {
namespace {

constexpr int kBatch = 4;
constexpr int kItems = 8;
constexpr int kRequests = 6;
constexpr int kOpen = 2;

ClassifySettings SettingsFor(const std::string& model, int threads, int parts) {
  return {.model = model,
          .parts = parts,
          .items = kItems,
          .batch = kBatch,
          .open = {.open = kOpen, .open_max = kOpen},
          .threads = threads};
}

// Answers so many requests at a time, over and over.
class Classifier {
 public:
  Classifier(const PipelineProgram& program, int threads)
      : pipeline_(program.spec, program.stages, {.capacity = {threads, threads}},
                  [this](const PipelineResult& result) { Note(result); }) {
    pipeline_.Pools().Resize(CpuSet::Range(0, threads - 1), {threads, threads});
    pipeline_.Begin();
  }
  ~Classifier() {
    pipeline_.Drain();
    pipeline_.WaitUntilOver();
  }

  void Answer(const std::function<std::vector<Payload>(int64_t number)>& items) {
    std::unique_lock lock(mutex_);
    left_ = kRequests;
    for (int i = 0; i < kRequests; ++i, ++number_) pipeline_.Submit({number_, items(number_)});
    over_.wait(lock, [this] { return left_ == 0; });
    if (!why_.empty()) throw std::runtime_error(why_);
  }

 private:
  void Note(const PipelineResult& result) {
    const std::lock_guard lock(mutex_);
    if (result.answer.status != PipelineAnswer::Status::kDone) why_ = result.answer.why;
    if (--left_ == 0) over_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable over_;
  int left_ = 0;
  int64_t number_ = 0;
  std::string why_;
  Pipeline pipeline_;
};

// The stages of the network alone.
PipelineProgram PartsOf(const ClassifySettings& settings) {
  PipelineProgram program = MakeClassify(settings).program;
  auto& stages = program.spec.stages;
  stages.erase(stages.begin(), stages.begin() + 3);
  stages.pop_back();
  stages.front().from.items = 0;  // A bound has no meaning at the ingress.
  program.stages.erase(program.stages.begin(), program.stages.begin() + 3);
  program.stages.pop_back();
  return program;
}

class UncutNetwork {
 public:
  UncutNetwork(const ModelInfo& model, int threads)
      : networks_(MakeBatchNetworks(model, ProgramOf(), {})),
        session_(networks_.graph, {.intra_op_parallelism_threads = threads}) {}

  void Run(const Tensor& batch) {
    const NetworkEnds& ends = networks_.ends.back();
    session_.Run({{ends.input, batch}}, {ends.fetch});
  }

 private:
  static ProgramSpec ProgramOf() {
    ProgramSpec program;
    program.batch = kBatch;
    return program;
  }
  const BatchNetworks networks_;
  Session session_;
};

Tensor RandomImages(const ModelInfo& model, int count) {
  Tensor images({count, model.image[0], model.image[1], model.image[2]});
  Random random(1);
  for (int64_t i = 0; i < images.Elements(); ++i)
    images.Floats()[i] = static_cast<float>(random.Uniform(-2, 2));
  return images;
}

// Ways to compute the same images, each with the seconds that it took by round.
class Ways {
 public:
  void Add(const std::string& name, std::function<void()> compute) {
    compute();  // Kernels are made, weights are packed.
    ways_.push_back({name, std::move(compute), {}, {}});
  }
  void Round() {
    for (size_t i = 0; i < ways_.size(); ++i) {
      Way& way = ways_[(i + round_) % ways_.size()];
      const double cpu_begin = ProcessorSeconds();
      const auto begin = std::chrono::steady_clock::now();
      way.compute();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      way.seconds.push_back(taken.count());
      way.cpu_seconds.push_back(ProcessorSeconds() - cpu_begin);
    }
    ++round_;
  }
  // Of the first way over those of each other one.
  void Tell(benchmark::State& state) const {
    const Way& first = ways_.front();
    state.counters["uncut_per_s"] = kRequests * kItems / Median(first.seconds);
    for (size_t i = 1; i < ways_.size(); ++i) {
      const Way& way = ways_[i];
      state.counters["parts_" + way.name] = MedianRatio(first.seconds, way.seconds);
      state.counters["cpu_" + way.name] = MedianRatio(first.cpu_seconds, way.cpu_seconds);
    }
  }

 private:
  struct Way {
    std::string name;
    std::function<void()> compute;
    std::vector<double> seconds, cpu_seconds;
  };
  static double MedianRatio(const std::vector<double>& above, const std::vector<double>& below) {
    std::vector<double> ratios;
    for (size_t round = 0; round < above.size(); ++round)
      ratios.push_back(above[round] / below[round]);
    return Median(ratios);
  }
  std::vector<Way> ways_;
  size_t round_ = 0;
};

void Cut(benchmark::State& state, const std::string& name) {
  const auto threads = static_cast<int>(state.range(0));
  const auto model = OpenModel(name);
  UncutNetwork uncut(*model, threads);
  const Tensor batch = RandomImages(*model, kBatch);
  const Tensor image = RandomImages(*model, 1);
  const auto items = [&](int64_t) {
    return std::vector<Payload>(kItems, Payload::Of(image, static_cast<int64_t>(image.Bytes())));
  };
  Ways ways;
  ways.Add("uncut", [&] {
    for (int i = 0; i < kRequests * kItems / kBatch; ++i) uncut.Run(batch);
  });
  for (const int parts : {1, 2, 4}) {
    const auto classifier =
        std::make_shared<Classifier>(PartsOf(SettingsFor(name, threads, parts)), threads);
    ways.Add(std::to_string(parts), [classifier, &items] { classifier->Answer(items); });
  }
  for (auto _ : state) ways.Round();
  ways.Tell(state);
}

void Whole(benchmark::State& state, const std::string& name) {
  const auto threads = static_cast<int>(state.range(0));
  const auto parts = static_cast<int>(state.range(1));
  const PipelineProgram program = MakeClassify(SettingsFor(name, threads, parts)).program;
  Classifier classifier(program, threads);
  const auto items = [&](int64_t number) { return program.items(number, /*work=*/1); };
  classifier.Answer(items);
  for (auto _ : state) classifier.Answer(items);
  state.SetItemsProcessed(state.iterations() * kRequests * kItems);
}

#define COSCHED_CLASSIFY(model)           \
  BENCHMARK_CAPTURE(Cut, model, #model)   \
      ->Name("cut/" #model)               \
      ->Arg(1)                            \
      ->Arg(2)                            \
      ->UseRealTime()                     \
      ->Unit(benchmark::kMillisecond);    \
  BENCHMARK_CAPTURE(Whole, model, #model) \
      ->Name("whole/" #model)             \
      ->ArgsProduct({{1, 2}, {1, 2, 4}})  \
      ->UseRealTime()                     \
      ->Unit(benchmark::kMillisecond)

COSCHED_CLASSIFY(lenet5);
COSCHED_CLASSIFY(resnet20);
COSCHED_CLASSIFY(mobilenet_v2);
COSCHED_CLASSIFY(resnet50);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
