#pragma once
// What split = "auto" of a pipeline goes by: the split and the open requests with which it answers
// fastest, found by trying (SplitChooser says how), again when the cores change. Pure: knows no
// pipeline and no clock, so that a tenant's pipeline (auto_pipeline.h) and a simulated one
// (experiments/hosts/simulation/) are arranged by the same object. Not thread-safe.
//
// Fastest: the smaller of the time that a request is inside and of the time from answer to answer, as
// means. While requests queue the second is the inverse of the throughput, and smaller where several
// are open; with few requests the first is the response time, and the second only how often one comes.

#include <optional>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "workloads/split_chooser.h"

namespace cosched {

class PipelineChooser {
 public:
  struct Arrangement {
    Split split;
    int open = 1;  // Requests.
    friend bool operator==(const Arrangement&, const Arrangement&) = default;
  };
  // Of one request.
  struct Answer {
    TimePoint admitted, ended;
    bool failed = false;  // It was not inside for as long as its stages take.
  };

  // No arrangement exceeds the capacity, or has more open requests.
  PipelineChooser(Split capacity, int most_open);

  // After each answer: how the pipeline is to be arranged from now on; none = as it is, on the cores
  // and with the arrangement that it has. REQUIRES: a core; `now` is on the clock of the answers.
  std::optional<Arrangement> Answered(const Answer& answer, const CpuSet& cores,
                                      const Arrangement& has, TimePoint now);
  // In a pause nothing is measured.
  void Paused() { begun_.reset(); }
  // The search on the cores of the last answer is over. REQUIRES: Answered was called.
  bool Settled() const { return chooser_.Settled(); }

 private:
  // Whether the pipeline has another arrangement than it should, which begins a measurement.
  bool MustChange(const CpuSet& cores, const Arrangement& has, TimePoint now);
  void Count(const Answer& answer);

  SplitChooser chooser_;
  Arrangement should_{{0, 0}, 0};
  CpuSet cores_;  // What it was seen to have.
  // Requests that were admitted before say nothing of it.
  TimePoint since_;
  // A step: as many answers after the one that begins it as may be open, so that those that come
  // together count as a whole.
  std::optional<TimePoint> begun_;
  int answers_ = 0;
  Duration inside_{0};
};

}  // namespace cosched
