#pragma once
// A pipeline of several ranks in one process, for tests: rank 0's with its remote lanes, and the
// others on threads of their own. Thread-safe where it does not say otherwise.

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/gates/queue_link.h"
#include "engine/gates/rank_worker.h"
#include "engine/gates/remote_lanes.h"

namespace cosched {

// A pipeline's stages as ranks have them.
struct RankStages {
  std::vector<StageFactory> make;
  std::vector<std::optional<StageTravel>> travels;
};

class RankGroup {
 public:
  // Rank r has the stages of index r, and ranks 1 … so many threads each. `here`: rank 0's threads; 0:
  // it has lanes, but no core.
  RankGroup(const PipelineSpec& spec, const std::vector<RankStages>& stages, int here = 1,
            int threads = 1)
      : links_(static_cast<int>(stages.size())),
        pipeline_(spec, stages[0].make, {.capacity = {std::max(1, here), std::max(1, here)}},
                  [this](PipelineResult result) { Note(std::move(result)); }) {
    const PipelineSettings settings{.capacity = {threads, threads}};
    if (here > 0) pipeline_.Pools().Resize(CpuSet::Range(0, here - 1), {here, here});
    for (size_t rank = 1; rank < stages.size(); ++rank) {
      workers_.push_back(std::make_unique<RankWorker>(
          &links_.Of(static_cast<int>(rank)), stages[rank].make, stages[rank].travels, settings));
      workers_.back()->Pools().Resize(CpuSet::Range(0, threads - 1), {threads, threads});
    }
    ends_.resize(workers_.size());
    for (size_t i = 0; i < workers_.size(); ++i) {
      threads_.emplace_back([this, i] {
        try {
          workers_[i]->Run();
        } catch (...) {
          ends_[i] = std::current_exception();
        }
        workers_[i].reset();
      });
    }
    pipeline_.Begin();
    remote_.emplace(&pipeline_, &links_.Of(0), stages[0].travels);
  }
  ~RankGroup() { Close(); }

  Pipeline& OfRank0() { return pipeline_; }
  QueueLinks& Links() { return links_; }
  RemoteLanes& Remote() { return *remote_; }
  // Of a rank that runs, other than 0.
  ThreadPools& PoolsOf(int rank) { return workers_[static_cast<size_t>(rank) - 1]->Pools(); }

  // Throws what WaitUntilOver does.
  void End() {
    pipeline_.Drain();
    pipeline_.WaitUntilOver();
  }
  // Until all other ranks have ended by themselves.
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // All ranks have ended by then.
  void Close() {
    if (!remote_) return;
    remote_.reset();
    Join();
    // A paused pipeline does not end.
    pipeline_.Pools().Resize(CpuSet{0}, {1, 1});
  }
  // What ended the rank before it was told to; null: nothing. REQUIRES: closed.
  std::exception_ptr EndOf(int rank) const { return ends_[static_cast<size_t>(rank) - 1]; }

  void Await(int64_t number) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return results_.contains(number); });
  }
  // By number. Not while it is running.
  const std::map<int64_t, PipelineResult>& Results() const { return results_; }
  bool answered_twice = false;

 private:
  void Note(PipelineResult result) {
    const std::lock_guard lock(mutex_);
    const int64_t number = result.number;
    if (!results_.emplace(number, std::move(result)).second) answered_twice = true;
    news_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable news_;
  std::map<int64_t, PipelineResult> results_;
  QueueLinks links_;
  Pipeline pipeline_;
  std::vector<std::unique_ptr<RankWorker>> workers_;  // By rank - 1.
  std::vector<std::exception_ptr> ends_;
  std::vector<std::thread> threads_;
  std::optional<RemoteLanes> remote_;
};

}  // namespace cosched
