#pragma once
// What a simulated service that is a pipeline runs on: the cores that it is granted
// (pipeline_model.h), or machines of its own (cluster_pipeline.h). Driven by SimulatedHost, one
// thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/split.h"
#include "engine/gates/pipeline.h"

namespace cosched {

class SimulatedPipeline {
 public:
  struct Answer {
    int64_t number = 0;
    PipelineAnswer::Status status = PipelineAnswer::Status::kDone;
    int64_t items = 0;  // That came out.
    // Admitted is `ended` for a request that was cancelled before.
    TimePoint submitted, admitted, ended;
  };

  SimulatedPipeline() = default;
  virtual ~SimulatedPipeline() = default;
  SimulatedPipeline(const SimulatedPipeline&) = delete;
  SimulatedPipeline& operator=(const SimulatedPipeline&) = delete;

  // REQUIRES, here and below: `now` does not go back. A call does all that is due before `now`.
  virtual void Submit(int64_t number, int64_t items, TimePoint now) = 0;
  virtual void SetOpenRequests(int count, TimePoint now) = 0;  // REQUIRES: 1 to open_max.
  // It begins with the first: until then requests wait. Cores may be a fraction; no cores or
  // threads: a pause.
  virtual void Resize(double cores, Split split, TimePoint now) = 0;
  // Of each call that computes, by itself: what disturbs the whole pipeline makes it less than 1.
  virtual void SetSpeed(double speed, TimePoint now) = 0;

  // When Advance is to be called, if nothing else happens.
  virtual std::optional<TimePoint> NextEvent() const = 0;
  // All that is due until then, each at its time.
  virtual void Advance(TimePoint now) = 0;

  virtual int Threads() const = 0;  // That find something to do: helpers, too.
  virtual int OpenRequests() const = 0;
  virtual bool Empty() const = 0;
  virtual std::vector<Answer> Take() = 0;  // Of requests that ended since the last time, in order.
  virtual PipelineSample Sample() const = 0;
};

}  // namespace cosched
