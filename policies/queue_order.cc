#include "policies/queue_order.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cosched {
QueueOrder ParseQueueOrder(std::string_view text) {
  CHECK(text == "fcfs" || text == "priority") << text;
  return text == "fcfs" ? QueueOrder::kFcfs : QueueOrder::kPriority;
}

int CoresAsked(const MachineView& view, const JobView& job) {
  return std::min(job.request.preferred, view.cores.Count());
}

bool FreesCores(const Event& event) {
  return std::holds_alternative<JobFinished>(event) || std::holds_alternative<JobFailed>(event);
}

bool ChangesQueue(const Event& event) {
  return FreesCores(event) || std::holds_alternative<JobArrived>(event);
}

void Handout::Start(const JobView& job, int cores) {
  CHECK(job.request.min <= cores && cores <= free_) << cores << " cores of " << free_;
  allocation_.jobs[job.id] = Run{.cores = cores, .split = {}};
  free_ -= cores;
}

void Handout::Grow(const JobView& job, int more) {
  const int now = job.cores.Count();
  const int added = std::min({more, job.request.max - now, free_});
  if (added <= 0) return;
  allocation_.jobs[job.id] = Run{.cores = now + added, .split = {}};
  free_ -= added;
}

void Handout::GrowOldestFirst(const MachineView& view) {
  for (const JobView& job : view.jobs.Running())
    Grow(job, CoresAsked(view, job) - job.cores.Count());
}

}  // namespace cosched
