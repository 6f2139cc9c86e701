// What it costs that a call travels: requests of 64 items of so many bytes through one stage that
// does nothing, made by one lane.
//
//   local/BYTES   of this rank, where payloads are moved
//   queue/BYTES   of another rank, a thread of this process: encoded, decoded, and back
//   mpi/BYTES     of another process, under mpirun -n 2 bench_ranks
//
// An item's time, a 64th of what is printed, is from one call's begin to the next one's; bytes are
// counted once, and go there and back. Run by hand: bench_ranks, and mpirun --bind-to none -n 2 bench_ranks

#include <benchmark/benchmark.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/gates/queue_link.h"
#include "engine/gates/rank_worker.h"
#include "engine/gates/remote_lanes.h"
#include "engine/mpi/mpi_link.h"

namespace cosched {
namespace {

constexpr int kItems = 64;

std::vector<std::optional<StageTravel>> TextTravels() {
  const PayloadCodec codec{
      .encode = [](const Payload& payload) { return payload.As<std::string>(); },
      .decode =
          [](std::string_view bytes, const Payload*) {
            return Payload::Of(std::string(bytes), static_cast<int64_t>(bytes.size()));
          }};
  return {StageTravel{codec, codec}};
}

std::vector<StageFactory> PassesOn() {
  return {[] {
    return MakeNativeStage([](StageCall& call, int) {
      call.Emit(std::move(call.Batch().items.front().payload));
      return false;
    });
  }};
}

// A pipeline, whose calls this rank makes or the other rank of the link.
class OnePipeline {
 public:
  explicit OnePipeline(RankLink* link)
      : pipeline_({.stages = {{.name = "pass"}}}, PassesOn(), {}, [this](const PipelineResult&) {
          const std::lock_guard lock(mutex_);
          answered_ = true;
          news_.notify_one();
        }) {
    if (link == nullptr) pipeline_.Pools().Resize(CpuSet{0}, {1, 1});
    pipeline_.Begin();
    if (link != nullptr) remote_.emplace(&pipeline_, link, TextTravels());
  }
  ~OnePipeline() {
    remote_.reset();
    pipeline_.Pools().Resize(CpuSet{0}, {1, 1});
  }

  void Measure(benchmark::State& state) {
    const auto bytes = static_cast<size_t>(state.range(0));
    for (auto _ : state) {
      std::vector<Payload> items;
      for (int i = 0; i < kItems; ++i)
        items.push_back(Payload::Of(std::string(bytes, 'x'), static_cast<int64_t>(bytes)));
      pipeline_.Submit({next_++, std::move(items)});
      std::unique_lock lock(mutex_);
      news_.wait(lock, [this] { return answered_; });
      answered_ = false;
    }
    state.SetItemsProcessed(state.iterations() * kItems);
    state.SetBytesProcessed(state.iterations() * kItems * state.range(0));
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  bool answered_ = false;
  int64_t next_ = 0;
  Pipeline pipeline_;
  std::optional<RemoteLanes> remote_;
};

void RunWorker(RankLink* link) {
  RankWorker worker(link, PassesOn(), TextTravels(), {});
  worker.Pools().Resize(CpuSet{0}, {1, 1});
  worker.Run();
}

void Local(benchmark::State& state) { OnePipeline(nullptr).Measure(state); }

void Queue(benchmark::State& state) {
  QueueLinks links(2);
  std::thread rank_1([&] { RunWorker(&links.Of(1)); });
  OnePipeline(&links.Of(0)).Measure(state);
  rank_1.join();
}

void AddSizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(8)->Arg(4 << 10)->Arg(256 << 10)->Arg(4 << 20)->UseRealTime();
}

int RunBenchmarks(int argc, char** argv) {
  std::unique_ptr<MpiLink> link;
  if (HasMpi() && RanksOfLauncher()) link = std::make_unique<MpiLink>();
  if (link && link->Rank() > 0) {
    RunWorker(link.get());
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  std::optional<OnePipeline> pipeline;
  if (link) {
    pipeline.emplace(link.get());
    AddSizes(benchmark::RegisterBenchmark(
        "mpi", [&](benchmark::State& state) { pipeline->Measure(state); }));
  } else {
    AddSizes(benchmark::RegisterBenchmark("local", Local));
    AddSizes(benchmark::RegisterBenchmark("queue", Queue));
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace cosched

int main(int argc, char** argv) { return cosched::RunBenchmarks(argc, argv); }
