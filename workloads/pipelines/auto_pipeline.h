#pragma once
// Gives a pipeline the split and the open requests with which it answers fastest (split = "auto";
// SplitChooser says how), and looks again when the number of granted cores changes. Results do not
// change with either. Called by the tenant at each answer; thread-safe. Others may resize the
// pipeline at any time, but the split and the open requests that they ask for do not last.
//
// Fastest: the smaller of the time that a request is inside and of the time from answer to answer, as
// means. While requests queue the second is the inverse of the throughput, and smaller where several
// are open; with few requests the first is the response time, and the second only how often one comes.

#include <chrono>
#include <mutex>
#include <optional>

#include "engine/gates/pipeline.h"
#include "engine/pool/resize.h"
#include "workloads/split_chooser.h"

namespace cosched {

class AutoPipeline {
 public:
  // The pipeline outlives it. most_open: of its specification.
  AutoPipeline(Pipeline* pipeline, int most_open);

  // Of each answer; open_requests: what the pipeline allows now.
  void Answered(const PipelineResult& result, int open_requests);

 private:
  using Clock = std::chrono::steady_clock;

  // Whether the pipeline has another arrangement than it should, which begins a measurement.
  bool MustChange(const WantedThreads& wanted, int open_requests);
  void Count(const PipelineResult& result);

  Pipeline& pipeline_;
  std::mutex mutex_;  // Guards these:
  SplitChooser chooser_;
  Split split_ = {0, 0};  // What it should have.
  int open_ = 0;
  CpuSet cores_;  // What it was seen to have.
  // Requests that were admitted before say nothing of it.
  Clock::time_point since_;
  // A step: so many answers after the one that begins it.
  std::optional<Clock::time_point> begun_;
  int answers_ = 0;
  Clock::duration inside_{0};
};

}  // namespace cosched
