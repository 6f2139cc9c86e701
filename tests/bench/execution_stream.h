#pragma once
// The stream of executions on which bench_simulator compares the simulator's core with SimGrid: so
// many at a time share 64 cores fairly, none more than one core; as one completes, the next begins.

#include <algorithm>

#include "engine/base/random.h"
#include "experiments/hosts/simulation/executions.h"

namespace cosched {

inline constexpr int kStreamCores = 64;

// Work of one execution after the other, in core-seconds: exponential with mean 1.
class Works {
 public:
  double Next() { return random_.Exponential(1.0); }

 private:
  Random random_{1};
};

class ExecutionStream {
 public:
  explicit ExecutionStream(int in_flight)
      : clock_(executions_.AddClock(std::min(1.0, static_cast<double>(kStreamCores) / in_flight))) {
    for (int id = 0; id < in_flight; ++id) Begin(id);
  }

  // To the next completion. Returns when it is, in seconds of the simulation.
  double Next() {
    const Executions::Completion next = *executions_.Next();
    now_ = next.time;
    executions_.Remove(next.id);
    Begin(next.id);
    return now_;
  }

 private:
  void Begin(int id) {
    executions_.Add(id, works_.Next());
    executions_.SetRate(id, clock_, 1.0, now_);
  }

  Executions executions_;
  const Executions::ClockId clock_;
  Works works_;
  double now_ = 0;
};

}  // namespace cosched
