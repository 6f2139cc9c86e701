#include "policies/repartition.h"

#include <algorithm>

namespace cosched {

std::vector<const JobView*> RunningAndNext(const MachineView& view, int* left) {
  std::vector<const JobView*> jobs;
  *left = view.cores.Count();
  jobs.reserve(view.jobs.Running().size() + 1);
  for (const JobView& job : view.jobs.Running()) {
    jobs.push_back(&job);
    *left -= job.request.min;
  }
  for (const JobView& job : view.jobs.Waiting()) {
    if (job.request.min > *left) break;  // The queue moves when somebody ends.
    jobs.push_back(&job);
    *left -= job.request.min;
  }
  return jobs;
}

std::vector<int> DivideEqually(const std::vector<CoreBounds>& bounds, int left) {
  const auto at_level = [](const CoreBounds& bound, int level) {
    return std::max(bound.min, std::min(level, bound.max));
  };
  // The highest level to which everybody can be lifted.
  int level = 0;
  int above = 0;
  for (const CoreBounds& bound : bounds) above = std::max(above, bound.max);
  for (++above; level + 1 < above;) {
    const int middle = level + (above - level) / 2;
    int64_t cost = 0;
    for (const CoreBounds& bound : bounds) cost += at_level(bound, middle) - bound.min;
    (cost <= left ? level : above) = middle;
  }
  std::vector<int> cores;
  cores.reserve(bounds.size());
  for (const CoreBounds& bound : bounds) {
    cores.push_back(at_level(bound, level));
    left -= cores.back() - bound.min;
  }
  // Fewer are left than there are jobs at the level.
  for (size_t i = 0; i < bounds.size() && left > 0; ++i) {
    if (cores[i] != level || level >= bounds[i].max) continue;
    ++cores[i];
    --left;
  }
  return cores;
}

Allocation ShareEqually(const MachineView& view) {
  int left = 0;
  const std::vector<const JobView*> jobs = RunningAndNext(view, &left);
  std::vector<CoreBounds> bounds;
  bounds.reserve(jobs.size());
  for (const JobView* job : jobs) bounds.push_back({job->request.min, job->request.max});
  const std::vector<int> grants = DivideEqually(bounds, left);
  Allocation allocation;
  for (size_t i = 0; i < jobs.size(); ++i) GiveCores(*jobs[i], grants[i], &allocation);
  return allocation;
}

int UsefulCores(const JobView& job) {
  const CoreRequest& request = job.request;
  if (job.elasticity == Elasticity::kMalleable) return request.max;
  const bool moldable = job.elasticity == Elasticity::kMoldable;
  if (moldable && !job.started) return request.max;
  const Split threads = moldable ? job.split : job.threads.value_or(job.SplitOn(request.preferred));
  return std::clamp(ThreadsOf(threads), request.min, request.max);
}

void GiveCores(const JobView& job, int cores, Allocation* allocation) {
  if (cores == 0 && job.IsActive()) allocation->jobs[job.id] = Pause{};
  if (cores == 0 || job.cores.Count() == cores) return;
  // Whoever divides the cores goes from the oldest to the newest, mostly.
  allocation->jobs.insert_or_assign(allocation->jobs.end(), job.id,
                                    Run{.cores = cores, .split = {}});
}

}  // namespace cosched
