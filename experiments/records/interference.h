#pragma once
// Who made whose threads wait: the run-queue wait of a tenant's compute threads, shared out among
// the tenants whose threads ran meanwhile where it could have run. Pure; used by the harness on one
// thread, and only if the experiment asks for it ([sampling] interference).
//
// Method: in each sampling period, a thread's wait goes to the other threads that ran on the cores
// that its affinity allows, in proportion to their run time there. A tenant's own other threads
// are among them, and so are all programs that are no tenants (this harness too): what the cores
// were busy beyond the tenants' run time. If nobody is known to have run, the wait is theirs.
//
// Limits: within a period a thread's run time counts as spent on the core where it ran last, and
// who ran counts as having been in the way all the time; shorter periods are sharper. The kernel
// counts busy time in ticks, so what other programs ran is carried from period to period as one
// sum and then laid on the cores that were busier than the tenants explain. What a thread ran or
// waited between its last sample and its end is not seen.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

using TimeByCore = std::map<int, Duration>;

class Interference {
 public:
  // One thread in one period.
  struct Thread {
    JobId job;
    int cpu = -1;  // Where it ran.
    CpuSet cores;  // Where it may run.
    Duration run_time{0};
    Duration wait{0};
  };
  // Seconds by victim and culprit; nullopt = programs that are no tenants. The culprits of a victim
  // sum up to its whole wait.
  using Matrix = std::map<std::pair<JobId, std::optional<JobId>>, double>;

  void AddPeriod(const std::vector<Thread>& threads, const TimeByCore& others);
  const Matrix& matrix() const { return matrix_; }

 private:
  Matrix matrix_;
};

// Makes periods of samples, whose counters are cumulative.
class InterferenceMeter {
 public:
  // `busy`: time that each core was busy with whatever, so far.
  explicit InterferenceMeter(TimeByCore busy) : busy_(std::move(busy)) {}

  // Samples of the tenants with their threads, and the cores' busy times now.
  void Add(const std::vector<TenantSample>& samples, const TimeByCore& busy);
  const Interference::Matrix& matrix() const { return interference_.matrix(); }

 private:
  struct Seen {
    Duration wait{0};
    std::map<int, ThreadSample> threads;  // By thread id.
  };

  TimeByCore Others(const std::vector<Interference::Thread>& threads, const TimeByCore& busy);

  Interference interference_;
  std::map<JobId, Seen> seen_;
  TimeByCore busy_;
  Duration owed_{0};  // Run time of tenants that the kernel's ticks have not shown yet.
};

}  // namespace cosched
