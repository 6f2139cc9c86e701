#pragma once
// A job as policies, arbiter and hosts know it: an id, what it asks for, and how it may end. Plain
// data.

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/clock.h"
#include "engine/base/split.h"
#include "policies/speed_curve.h"

namespace cosched {

struct JobId {
  int64_t value = -1;
  friend auto operator<=>(const JobId&, const JobId&) = default;
};

// Services are numbered from 0 in the order of the experiment file.
struct ServiceId {
  int64_t value = -1;
  friend auto operator<=>(const ServiceId&, const ServiceId&) = default;
};

struct CoreRequest {
  int min = 1;  // Below this it can't run.
  int preferred =
      1;        // What it asks for: the threads of a rigid job, the full grant of FCFS policies.
  int max = 1;  // More is never granted.
  friend bool operator==(const CoreRequest&, const CoreRequest&) = default;
};

// Of a pipeline: requests that may be open, at its start and at most.
struct OpenRange {
  int at_start = 1;
  int most = 1;
};

struct Job {
  JobId id;
  std::string workload;  // Name in the experiment file.
  CoreRequest request;
  Elasticity elasticity = Elasticity::kMalleable;
  int priority = 0;  // Higher is more important.
  // The threads of a rigid job, whatever it is given; default: SplitOn(preferred).
  std::optional<Split> threads = {};
  // What it has to do, and how fast it does it alone. steps: 0 = not known. speed: null = not
  // known, which happens only to policies that do not ask for it (PolicyInfo::needs_speed).
  int64_t steps = 0;
  std::shared_ptr<const SpeedCurve> speed = {};
  // When the trace has it arrive, in the host's time: its waiting is counted from then, however
  // late it is submitted. Default: when it is submitted.
  std::optional<TimePoint> arrival = {};
  // The time in which a service's request is to be answered; none = no objective.
  std::optional<Duration> response_objective = {};
  // The service that it is an instance of; none = it does steps.
  std::optional<ServiceId> service = {};
  // It is a pipeline, whose calls compute side by side; none = it is not.
  std::optional<OpenRange> open_range = {};
  // The node whose cores it must stay within (MachineView::nodes); none = any cores.
  std::optional<int> node = {};

  // The split that it has on so many cores if nobody says another: DefaultSplit(cores), but of a
  // pipeline as many inter-op threads as cores, and where it has fewer calls they help in these.
  Split SplitOn(int count) const {
    const Split split = DefaultSplit(count);
    return open_range ? Split{split.intra, split.intra} : split;
  }
};

// How an admitted job ended; every job ends exactly once.
enum class JobEnd {
  kFinished,   // did all its steps
  kFailed,     // died, hung or broke its contract
  kRejected,   // a policy refused it, or it can never run
  kCancelled,  // the run was interrupted
  kDeclined,   // a policy refused this instance of a service that a device answers for
};
std::string_view ToString(JobEnd end);  // "finished", …

}  // namespace cosched
