#pragma once
// What STRICT, ALWAYS_ATTEND and MAX_PROP share (Libutti's thesis, 2023, its container scheduler):
// the order of the queue and what happens to freed cores. Their units become ours so: a published
// request of p inter + q intra threads is a request for preferred = p + q cores, because our inter
// worker computes too, and the published least grant of 1 + 1 threads is the job's own min. A
// request larger than the machine counts as the whole machine. Pure functions.

#include <string_view>
#include <vector>

#include "policies/policy.h"

namespace cosched {

constexpr std::string_view kQueueOrders = "fcfs | priority";
QueueOrder ParseQueueOrder(std::string_view text);  // REQUIRES: one of kQueueOrders.

// The cores that a job asks for: preferred, at most the machine.
int CoresAsked(const MachineView& view, const JobView& job);

// Cores were freed, or the queue changed. Cores in transition free nothing more when they settle,
// so GrantSettled is not one.
bool FreesCores(const Event& event);
bool ChangesQueue(const Event& event);

// An allocation under construction, and the cores that are still free. Gives each job at most its
// max.
class Handout {
 public:
  explicit Handout(const MachineView& view) : free_(view.FreeCores().Count()) {}

  int free() const { return free_; }
  // REQUIRES: job.request.min <= cores <= free().
  void Start(const JobView& job, int cores);
  // Adds up to `more` cores to a running job, as far as its max and the free cores go.
  void Grow(const JobView& job, int more);
  // The published reassignment of ALWAYS_ATTEND: the oldest running job first, grown up
  // to what it asked.
  void GrowOldestFirst(const MachineView& view);
  Allocation Take() { return std::move(allocation_); }

 private:
  int free_;
  Allocation allocation_;
};

}  // namespace cosched
