#pragma once
// How co-runners slow each other down through what they share beside cores (caches, memory
// bandwidth): a step of program i takes
//
//   1 + sensitivity_i * sum over the other tenants j of pressure_j * rate_j
//
// times as long as alone; rate_j is j's speed alone on what it has, over its speed on 1 core
// (workloads/profile.h; fitted to pairs by workloads/fit_contention.h). Source: pressure and
// sensitivity of co-located programs, as in Bubble-Up (Mars et al., MICRO 2011), in a linear form.
//
// All tenants of one program with the same rate are slowed alike, so they share a clock of the
// Executions, and a change of the total pressure is one change of speed for each such group:
// O(groups), whatever the number of tenants. One thread.

#include <cstdint>
#include <utility>
#include <vector>

#include "experiments/hosts/simulation/executions.h"

namespace cosched {

class Contention {
 public:
  // enabled = false: all run by one clock of speed 1. The executions outlive it.
  Contention(Executions* executions, bool enabled);

  // The clock of tenants with that program (any number that names it) and that rate.
  // Counts one such tenant more; the clock's speed holds after the next Update.
  Executions::ClockId Join(int program, double pressure, double sensitivity, double rate);
  void Leave(int program, double rate);  // Counts one less.
  // Brings the clocks' speeds up to date; tells which clocks' speeds have changed.
  const std::vector<Executions::ClockId>& Update(double now);

 private:
  struct Group {
    Executions::ClockId clock = 0;
    double pressure = 0;  // One tenant's, times its rate.
    double sensitivity = 0;
    int64_t tenants = 0;
  };
  using Key = std::pair<int, int64_t>;  // Program; rate in parts of kParts.

  Executions* const executions_;
  const bool enabled_;
  bool changed_ = false;
  // With tenants, by key: a handful, looked for and summed up at every change.
  using Groups = std::vector<std::pair<Key, Group>>;
  Groups::iterator Place(const Key& key);  // Where the group is, or would be.

  Groups groups_;
  std::vector<Executions::ClockId> unused_;
  std::vector<Executions::ClockId> slowed_;
};

}  // namespace cosched
