#pragma once
// A pipeline at work, and its answers by request, for tests. Thread-safe.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "engine/gates/pipeline.h"
#include "workloads/pipelines/pipeline_program.h"

namespace cosched {

class StartedPipeline {
 public:
  // `answered` is called where a request has its answer, on a thread of the pipeline.
  StartedPipeline(
      PipelineProgram program, Split capacity,
      std::function<void(const PipelineResult&)> answered = [](const PipelineResult&) {})
      : program_(std::move(program)),
        pipeline_(program_.spec, program_.stages, {.capacity = capacity},
                  [this, answered = std::move(answered)](PipelineResult result) {
                    answered(result);
                    const std::lock_guard lock(mutex_);
                    const int64_t number = result.number;
                    results_.emplace(number, std::move(result));
                    news_.notify_all();
                  }) {
    Resize(capacity);
    pipeline_.Begin();
  }
  ~StartedPipeline() { Resize(pipeline_.Pools().Capacity()); }
  StartedPipeline(const StartedPipeline&) = delete;
  StartedPipeline& operator=(const StartedPipeline&) = delete;

  // On as many cores as calls may run side by side; none pauses it.
  void Resize(Split split) {
    pipeline_.Pools().Resize(split.inter == 0 ? CpuSet() : CpuSet::Range(0, split.inter - 1),
                             split);
  }
  void Submit(int64_t number, double work = 1) {
    pipeline_.Submit({number, program_.items(number, work)});
  }
  bool Answered(int64_t number) {
    const std::lock_guard lock(mutex_);
    return results_.contains(number);
  }
  PipelineResult Await(int64_t number) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return results_.contains(number); });
    return results_.at(number);
  }
  Pipeline& pipeline() { return pipeline_; }
  const PipelineSpec& spec() const { return program_.spec; }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::map<int64_t, PipelineResult> results_;
  PipelineProgram program_;
  Pipeline pipeline_;
};

}  // namespace cosched
