#pragma once
// What was measured of programs on one machine: how fast each runs alone on so many cores with so
// many threads, what it costs to start and to stop it, how much it slows others and is slowed, and
// how long resizes take. Written by `cosched calibrate`, read by the simulator and for the speed
// curves of policies. A value; the JSON file holds exactly this, with the host and the versions
// that it comes from.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/split.h"
#include "workloads/scaling_law.h"
#include "workloads/stage_cost.h"

namespace cosched {

// A median between two of its samples; their number tells the level (MedianLevel, statistics.h).
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  int samples = 0;
};

// Alone on the machine: a step's time, by cores and threads. The threads (inter + intra
// - 1, as the engine runs them) may exceed the cores: that is what oversubscription is modelled on.
struct SpeedPoint {
  int cores = 1;
  Split threads;
  Estimate step_s;
};

// What sharing cores with other tenants costs beyond the time that they take.
struct CrowdingPoint {
  int threads = 1;    // The tenant's threads, each on a core of its own.
  double others = 1;  // Threads of other tenants on each of its cores, on average.
  Estimate loss;      // Step time over that alone, divided by the part of the time that it has.
};

struct StageProfile {
  std::string stage;  // Its name.
  StageCost cost;
};

struct ProgramProfile {
  std::string program;  // ProgramName(TenantSpec): "resnet20 train batch 32".
  // At least the point of 1 core and 1 thread; no two of the same cores and threads.
  std::vector<SpeedPoint> alone;
  ScalingLaw law;  // Fitted to the points with as many threads as cores.
  // From Start to the first step's begin; from the last step's end to the process's end. Both are
  // the host's and the kernel's work more than the tenant's: others on its cores hardly delay them.
  Estimate start_s;
  Estimate stop_s;
  // What the warm-up steps (kWarmUpSteps) take longer than later ones, in steps: kernels are made
  // and caches filled at the speed of the tenant's cores. In profiles from before it was told
  // apart, it is part of start_s and has no samples here.
  Estimate warm_up;
  // Contention: running beside others, each step takes 1 + sensitivity * sum over the others of
  // their pressure times their rate as long as alone; rate = speed alone on the same cores over
  // speed on 1 core (fit_contention.h): a tenant that leaves cores idle presses the less.
  double pressure = 0;
  double sensitivity = 0;
  // Shared cores. A core's time is divided among the threads on it by their weights; those of a
  // tenant with several threads count `weight` (they sleep while they wait for each other), that of
  // a tenant with one counts 1. Steps take the loss longer than with the part of the time that the
  // slowest thread has (crowding_fit.h). Empty = not measured: then the penalty of as many threads
  // of its own stands for that of others' threads.
  std::vector<CrowdingPoint> crowding;
  double weight = 1;
  // Step time with a thread of another tenant on the other hardware thread of its core over that
  // with an idle one, what they press on each other beside the core taken out. Only where hardware
  // threads count as cores; no samples = not measured.
  Estimate sibling;
  // Step time with all of its memory on another NUMA node than its core over that alone, and how
  // many bytes were moved when it went to another node. Only where the machine has several; no
  // samples = not measured.
  Estimate far_memory;
  Estimate memory_bytes;
  // Of a pipeline, in order: what calls of each stage cost on one core. Its steps are requests of
  // work 1. Empty = not measured, or no pipeline.
  std::vector<StageProfile> stages;
};

// The first steps of a tenant also make its kernels: they are not what its steps take.
inline constexpr int kWarmUpSteps = 2;

// Programs that ran side by side, what pressure and sensitivity were fitted to (pairs on disjoint
// cores), and crowding (tenants with more cores together than the machine), or what either was
// checked on and is not fitted to.
struct CoRun {
  struct Tenant {
    std::string program;
    int count = 1;      // So many alike.
    int cores = 1;      // Each one's cores.
    Estimate slowdown;  // Step time over the step time alone on these cores.
  };
  std::vector<Tenant> tenants;
  bool fitted = true;
  int shared_cores = 0;  // That all of them were on; 0 = each had cores of its own.
};

// The measured distribution of a delay: quantiles at evenly spaced shares 0, 1/(n-1), …, 1, in
// seconds, ascending. Empty = not measured.
using DelayQuantiles = std::vector<double>;

// From the request to the last thread in place.
struct ResizeDelays {
  DelayQuantiles grow;
  DelayQuantiles shrink;
  DelayQuantiles pause;
  DelayQuantiles resume;
};

struct Profile {
  std::string source;  // "calibrate" or "published: …".
  std::string host;    // Host name, CPU model.
  // Cosched's version, with its commit and libraries, and the rates that kernels were chosen by.
  std::string version;
  std::string date;  // UTC, ISO 8601.
  int cores = 1;     // The largest number that was measured.
  // Hardware threads of a physical core that were measured as a core each; 1 = one of each core was
  // used, 0 = not known, as of profiles from before it was told.
  int threads_per_core = 0;
  std::vector<ProgramProfile> programs;
  std::vector<CoRun> co_runs;
  ResizeDelays resize;
  // Bytes a second at which memory is moved from one NUMA node to another; no samples = the machine
  // has one, or it was not measured.
  Estimate move_bytes_s;
  // The decision's own time, host's reaction included: from an event to the grant being told.
  DelayQuantiles decision;
  // What a reader of the figures must know: where each comes from, what is missing, what was
  // measured on a machine that was not idle.
  std::vector<std::string> notes;

  // Memory on another NUMA node costs something here; else it is not known what.
  bool KnowsFarMemory() const;
  const ProgramProfile* Find(std::string_view program) const;  // nullptr if it was not measured.
};

// Throws InputError: not there, not JSON, a key missing or of the wrong type, a value out of range.
Profile LoadProfile(const std::filesystem::path& file);
// Replaces the file as a whole. Throws OutputError.
void SaveProfile(const Profile& profile, const std::filesystem::path& file);

}  // namespace cosched
