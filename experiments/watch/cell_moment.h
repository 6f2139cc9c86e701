#pragma once
// What could be seen in a cell at one instant: made by CellStory, drawn by frame.h. Plain data.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"

namespace cosched {

enum class TenantState { kRuns, kPaused, kWaits };  // In the order of showing.
enum class SpeedUnit { kImages, kSteps, kRequests };

struct TenantMoment {
  int64_t job = 0;
  std::string program = {};  // Its workload; "" = the records do not say yet.
  TenantState state = TenantState::kWaits;
  double since = 0;   // Seconds of the cell: when it started; of one that waits, when it came.
  CpuSet cores = {};  // By its latest grant.
  double amount = 0;  // CPU time that goes with them, in cores.
  int threads = 0;
  // Compute threads that want to run, on average since the latest grant or over the last seconds;
  // absent: no sample says.
  std::optional<double> runnable = {};
  int64_t steps = 0;
  std::optional<int64_t> all_steps = {};  // That it is to do, or did.
  std::optional<double> per_second = {};  // Of `unit`, over the last seconds.
  SpeedUnit unit = SpeedUnit::kImages;
};

struct ServiceMoment {
  std::string name;
  // Requests with no server yet, and those that servers have; absent: the records do not say.
  std::optional<int64_t> queued = {}, in_flight = {};
  double answered_per_s = 0;  // Over the last seconds,
  std::optional<double> mean_response_s =
      {};                             // and the mean response of these; absent if none was.
  int64_t answered = 0, dropped = 0;  // Since the cell began.
};

struct DecisionMoment {
  double time = 0;
  std::string event;  // "job 3 came".
  std::string moves;  // "job 3 starts on 0-1, 2 threads; job 2: 2 -> 1 cores"; "" = nothing.
};

struct CellMoment {
  double time = 0;
  int64_t came = 0, running = 0, paused = 0, waiting = 0, ended = 0;  // Jobs.
  int64_t lost = 0;                        // Of those that ended: failed, rejected or cancelled.
  std::vector<TenantMoment> tenants = {};  // Not ended; of those that wait the first ones.
  std::vector<ServiceMoment> services = {};
  std::vector<DecisionMoment> decisions = {};  // The latest first; only those that moved something.
  std::optional<DecisionMoment> asked = {};    // The latest of all, if it moved nothing.
  CpuSet granted = {};                         // Cores of all tenants: a shared one counts once.
  std::optional<double> runnable = {};         // Threads of all of them; absent: no sample says.

  // As experiments/README.md defines it, of the same seconds; absent where it is not known.
  std::optional<double> Oversubscription() const {
    const int cores = granted.Count();
    if (!runnable || cores == 0) return std::nullopt;
    return std::max(0.0, *runnable - cores) / cores;
  }
};

}  // namespace cosched
