#include "policies/queue_order.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cosched {
namespace {

std::vector<const JobView*> InState(const MachineView& view, JobState state) {
  std::vector<const JobView*> jobs;
  for (const JobView& job : view.jobs) {
    if (job.state == state) jobs.push_back(&job);
  }
  return jobs;
}

}  // namespace

QueueOrder ParseQueueOrder(std::string_view text) {
  CHECK(text == "fcfs" || text == "priority") << text;
  return text == "fcfs" ? QueueOrder::kFcfs : QueueOrder::kPriority;
}

std::vector<const JobView*> WaitingJobs(const MachineView& view, QueueOrder order) {
  std::vector<const JobView*> jobs = InState(view, JobState::kWaiting);
  if (order == QueueOrder::kPriority) {
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const JobView* a, const JobView* b) { return a->priority > b->priority; });
  }
  return jobs;
}

std::vector<const JobView*> RunningJobs(const MachineView& view) {
  std::vector<const JobView*> jobs = InState(view, JobState::kRunning);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const JobView* a, const JobView* b) { return a->started < b->started; });
  return jobs;
}

int Asked(const MachineView& view, const JobView& job) {
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
  for (const JobView* job : RunningJobs(view)) Grow(*job, Asked(view, *job) - job->cores.Count());
}

}  // namespace cosched
