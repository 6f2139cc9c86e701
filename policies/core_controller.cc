#include "policies/core_controller.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "policies/node_jobs.h"

namespace cosched {
namespace {

constexpr CpuShare kLeastAmount{100};  // Below it a job hardly runs: there is no room for another.

CpuShare Sum(const std::vector<CpuShare>& amounts) {
  return std::accumulate(amounts.begin(), amounts.end(), CpuShare());
}

}  // namespace

void FitAmounts(CpuShare room, CpuShare grid, std::vector<CpuShare>* amounts) {
  const CpuShare sum = Sum(*amounts);
  if (sum <= room) return;
  for (CpuShare& amount : *amounts) {
    // Up to the grid, in whole numbers: amount x room / sum.
    const int64_t steps =
        (amount.milli * room.milli + sum.milli * grid.milli - 1) / (sum.milli * grid.milli);
    amount.milli = steps * grid.milli;
  }
  while (Sum(*amounts) > room) {
    const CpuShare excess = Sum(*amounts) - room;
    CpuShare& largest = *std::max_element(amounts->begin(), amounts->end());
    largest -= std::min(excess, grid);
  }
}

CpuShare CoreController::OnGrid(double cores, const JobView& job) const {
  // What a number lacks of a multiple by its binary fraction is no reason for a whole step more.
  constexpr double kNothing = 1e-9;
  const double steps = cores * 1000 / static_cast<double>(limits_.grid.milli);
  const double whole = limits_.nearest ? std::round(steps) : std::ceil(steps - kNothing);
  const CpuShare most = CpuShare::OfCores(job.request.max);
  const double bounded = std::clamp(whole, 0.0, static_cast<double>(most.milli));  // Of steps.
  const CpuShare amount{static_cast<int64_t>(bounded) * limits_.grid.milli};
  return std::clamp(amount, std::min(limits_.least, most), most);
}

// REQUIRES: a window is over.
void CoreController::Listen(const MachineView& view) {
  for (const ServiceView& service : view.services) {
    if (service.length <= Duration::zero()) continue;  // It is younger than the window.
    for (const auto& [server, window] : service.servers) {
      const JobId* id = std::get_if<JobId>(&server);
      const JobView* job = id ? view.Find(*id) : nullptr;
      if (job == nullptr || !job->IsActive()) continue;
      Instance& instance = instances_.at(*id);
      const double cores =
          instance.controller->Next({.job = *job,
                                     .service = service,
                                     .server = window,
                                     .objective_s = limits_.aim * ToSeconds(service.objective),
                                     .length_s = ToSeconds(service.length)});
      instance.wanted = OnGrid(cores, *job);
      instance.has_news = true;
    }
  }
}

Allocation CoreController::Decide(const MachineView& view, const Event& event) {
  std::erase_if(instances_, [&view](const auto& one) { return !view.Find(one.first); });
  for (const JobView& job : view.jobs) {
    if (!job.service || instances_.contains(job.id)) continue;
    instances_[job.id] = {
        .controller = make_(), .wanted = OnGrid(limits_.initial.Cores(), job), .has_news = false};
  }
  if (std::holds_alternative<WindowOver>(event)) Listen(view);
  Allocation allocation;
  const std::vector<std::vector<const JobView*>> by_node = JobsByNode(view);
  for (size_t node = 0; node < by_node.size(); ++node)
    FillNode(view, node, by_node[node], &allocation);
  return allocation;
}

// Services first; what waits starts only if a least amount is there for it beside all that run.
void CoreController::FillNode(const MachineView& view, size_t node,
                              const std::vector<const JobView*>& jobs, Allocation* allocation) {
  const CpuShare all = CpuShare::OfCores(view.nodes[node].Count());
  std::vector<const JobView*> served, others;
  std::vector<CpuShare> amounts;
  for (const JobView* job : jobs) {
    const auto count = static_cast<int64_t>(served.size() + others.size());
    const bool fits = kLeastAmount.milli * (count + 1) <= all.milli;
    if (!job->IsActive() && !fits) continue;
    (job->service ? served : others).push_back(job);
    if (job->service) amounts.push_back(instances_.at(job->id).wanted);
  }
  const CpuShare kept{kLeastAmount.milli * static_cast<int64_t>(others.size())};
  FitAmounts(all - kept, std::min(limits_.grid, kLeastAmount), &amounts);
  const auto give = [&](const JobView& job, CpuShare amount) {
    if (job.IsActive() && job.amount == amount) return;
    std::optional<Split> split;
    if (job.service && limits_.lanes) split = Split{.inter = amount.Threads(), .intra = 1};
    allocation->jobs[job.id] =
        Run{.cores = Share{.amount = amount, .node = static_cast<int>(node)}, .split = split};
  };
  for (size_t i = 0; i < served.size(); ++i) {
    give(*served[i], amounts[i]);
    Instance& instance = instances_.at(served[i]->id);
    if (std::exchange(instance.has_news, false)) instance.controller->Got(amounts[i].Cores());
  }
  // Those that can use least first, so that the others share what they leave.
  std::stable_sort(others.begin(), others.end(), [](const JobView* one, const JobView* other) {
    return one->request.max < other->request.max;
  });
  CpuShare left = all - Sum(amounts);
  for (size_t i = 0; i < others.size(); ++i) {
    const CpuShare even{left.milli / static_cast<int64_t>(others.size() - i)};
    const CpuShare amount = std::min(even, CpuShare::OfCores(others[i]->request.max));
    left -= amount;
    give(*others[i], amount);
  }
}

}  // namespace cosched
