#pragma once
// One measurement of `cosched calibrate`: its tenants on a host of their own, run by the harness
// under a policy that decides nothing (scripted; no-control where tenants share cores), and read
// back from the records like any run. There is no second way to run tenants.

#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiments/calibration/plan.h"
#include "experiments/harness/harness.h"
#include "workloads/profile.h"

namespace cosched {

struct MeasuredTenant {
  double step_s = 0;     // Mean over the time that counts (see below), gaps between steps included.
  double warm_up_s = 0;  // What the first kWarmUpSteps took.
  double start_s = 0;    // To the first step's begin.
  double stop_s = 0;     // From the last step's end.
  // Of a pipeline, by stage: what calls of it took, all together.
  struct Stage {
    std::string stage;
    int64_t calls = 0, taken = 0;  // … and the items that they took.
    double busy_s = 0, lasted_s = 0;
  };
  std::vector<Stage> stages = {};
  int64_t steps = 0;  // That it did.
};

// The time counts from when every tenant is through its warm-up until the first one has done its
// last step, so that each of them ran beside all others.
struct Measured {
  double at = 0;  // When it began, in the caller's seconds: runs near each other are compared.
  std::vector<MeasuredTenant> tenants;
  ResizeDelays resizes;  // Each as it was, not quantiles.
  struct MemoryMove {
    double bytes = 0;
    double seconds = 0;
  };
  std::vector<MemoryMove> memory_moves = {};
  std::vector<double> decision = {};  // From a job's arrival to its cores being told.
  bool disturbed = false;    // The cell is marked, e.g. because other programs used the cores.
  bool interrupted = false;  // Nothing else is set then.
};

struct MeasureOptions {
  std::filesystem::path folder;  // For records, which are removed.
  Topology topology;             // Each of its CPUs is a core.
  std::function<HostFactory(const ExperimentConfig&)> hosts_of;
  std::function<bool()> interrupted = [] { return false; };
  // None takes longer: a program that makes no step never ends.
  std::chrono::duration<double> longest = std::chrono::minutes(10);
  std::vector<std::string> marks = {};  // That every run gets: it counts as disturbed.
};

// A tenant failed, e.g. because the machine was too busy for it to meet its deadlines.
class MeasurementFailed : public std::runtime_error {
 public:
  // hopeless: another try would fail as well.
  explicit MeasurementFailed(const std::string& why, bool hopeless = false)
      : std::runtime_error(why), hopeless_(hopeless) {}
  bool hopeless() const { return hopeless_; }

 private:
  bool hopeless_;
};

// Of the topology; "" if tenants' memory can be kept on another of its NUMA nodes, else why not: it
// has one, or the kernel does not let this process.
std::string WhyNoFarMemory(const Topology& topology);

// steps: of each tenant, in the order of measurement.programs, warm-up included. Throws
// MeasurementFailed.
Measured Measure(const Measurement& measurement, const std::vector<TenantSpec>& programs,
                 const std::vector<int64_t>& steps, const MeasureOptions& options);

}  // namespace cosched
