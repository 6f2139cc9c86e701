#pragma once
// The rows of steps.csv in virtual time. No event is spent on a step: the steps of a stretch with
// one rate are written when the stretch ends, from when the executions' clock passed them. A step's
// duration runs from the end of the one before it, pauses within included. One thread.

#include <vector>

#include "experiments/hosts/simulation/executions.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

class StepLog {
 public:
  using Id = Executions::Id;

  explicit StepLog(const Executions* executions) : executions_(executions) {}

  // The clock passes at its present speed from `now` on.
  void OnSpeed(Executions::ClockId clock, double now);
  // warm_up: that its first step takes longer, in steps.
  void Start(Id id, JobId job, double warm_up, double now);
  // From now on the tenant does `rate` steps a second of that clock with so many threads.
  void SetRate(Id id, Executions::ClockId clock, double rate, int threads, double now);
  // The tenant has done all of its steps. The id may be used again.
  void Finish(Id id, int64_t steps, double now);
  // Writes what has been done up to now. Once this was called for all that run, Forget().
  void Flush(Id id, double now);
  void Forget(double now);  // How fast clocks were before now.
  std::vector<StepSample> Take();

 private:
  struct Passage {  // A clock's course from then on.
    double virtual_time;
    double time;
    double speed;
  };
  struct Stretch {
    JobId job;
    Executions::ClockId clock = 0;
    double rate = 0;
    double virtual_begin = 0;
    double done = 0;  // Steps at its begin; below 0 while it warms up.
    int threads = 0;
    int64_t written = 0;
    double last_end = 0;
  };

  double TimeOf(Executions::ClockId clock, double virtual_time) const;
  void Write(Stretch* stretch, double time);

  const Executions* const executions_;
  std::vector<std::vector<Passage>> passages_;  // By clock.
  std::vector<Stretch> stretches_;              // By id.
  std::vector<StepSample> steps_;
};

}  // namespace cosched
