#include "policies/core_controller.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/check.h"

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

// Drops what has ended and adds what is new: the order of submission stays.
void CoreController::Follow(const std::vector<const JobView*>& by_rank) {
  size_t from = 0, rank = 0;
  for (; rank < by_rank.size(); ++rank, ++from) {
    while (from < instances_.size() && instances_[from].job != by_rank[rank]->id) ++from;
    if (from == instances_.size()) break;
    if (from != rank) instances_[rank] = std::move(instances_[from]);
  }
  instances_.erase(instances_.begin() + static_cast<std::ptrdiff_t>(rank), instances_.end());
  for (; rank < by_rank.size(); ++rank) {
    const JobView& job = *by_rank[rank];
    Instance& instance = instances_.emplace_back();
    instance.job = job.id;
    if (!job.service) continue;
    instance.controller = make_();
    instance.wanted = OnGrid(limits_.initial.Cores(), job);
  }
}

// Servers come in the order of their instances: it looks behind the latest one first, in steps that
// double. The number of jobs if there is no such job.
size_t CoreController::RankOf(JobId id, size_t near) const {
  const size_t size = instances_.size();
  size_t begin = near < size && instances_[near].job <= id ? near : 0;
  size_t step = 1;
  for (; begin + step < size && instances_[begin + step].job <= id; step *= 2) begin += step;
  const auto first = instances_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = instances_.begin() + static_cast<std::ptrdiff_t>(std::min(begin + step, size));
  const auto found = std::lower_bound(
      first, last, id, [](const Instance& one, JobId wanted) { return one.job < wanted; });
  return found != last && found->job == id ? static_cast<size_t>(found - instances_.begin()) : size;
}

// REQUIRES: a window is over.
void CoreController::Listen(const MachineView& view, const std::vector<const JobView*>& by_rank) {
  for (const ServiceView& service : view.services) {
    if (service.length <= Duration::zero()) continue;  // It is younger than the window.
    const double objective_s = limits_.aim * ToSeconds(service.objective);
    const double length_s = ToSeconds(service.length);
    size_t rank = 0;
    for (const auto& [server, window] : service.servers) {
      const JobId* id = std::get_if<JobId>(&server);
      if (id == nullptr) continue;
      rank = RankOf(*id, rank);
      if (rank == by_rank.size() || !by_rank[rank]->IsActive()) continue;
      const JobView& job = *by_rank[rank];
      Instance& instance = instances_[rank];
      CHECK(instance.controller) << "job " << id->value << " is no instance of a service";
      const double cores = instance.controller->Next({.job = job,
                                                      .service = service,
                                                      .server = window,
                                                      .objective_s = objective_s,
                                                      .length_s = length_s});
      instance.wanted = OnGrid(cores, job);
      instance.has_news = true;
    }
  }
}

Allocation CoreController::Decide(const MachineView& view, const Event& event) {
  const NodeJobs jobs(view);
  Follow(jobs.ByRank());
  if (std::holds_alternative<WindowOver>(event)) Listen(view, jobs.ByRank());
  given_.assign(jobs.ByRank().size(), std::nullopt);
  for (size_t node = 0; node < jobs.Nodes(); ++node) {
    FillNode(static_cast<int>(node), CpuShare::OfCores(view.nodes[node].Count()), jobs.Of(node));
  }
  return Given(jobs.ByRank());
}

// Services first; what waits starts only if a least amount is there for it beside all that run.
void CoreController::FillNode(int node, CpuShare all, std::span<const NodeJob> jobs) {
  served_.clear();
  others_.clear();
  amounts_.clear();
  for (const NodeJob& one : jobs) {
    const auto count = static_cast<int64_t>(served_.size() + others_.size());
    const bool fits = kLeastAmount.milli * (count + 1) <= all.milli;
    if (!one.job->IsActive() && !fits) continue;
    (one.job->service ? served_ : others_).push_back(one);
    if (one.job->service) amounts_.push_back(instances_[one.rank].wanted);
  }
  const CpuShare kept{kLeastAmount.milli * static_cast<int64_t>(others_.size())};
  FitAmounts(all - kept, std::min(limits_.grid, kLeastAmount), &amounts_);
  for (size_t i = 0; i < served_.size(); ++i) {
    Give(served_[i], amounts_[i], node);
    Instance& instance = instances_[served_[i].rank];
    if (std::exchange(instance.has_news, false)) instance.controller->Got(amounts_[i].Cores());
  }
  // Those that can use least first, so that the others share what they leave.
  std::stable_sort(others_.begin(), others_.end(), [](const NodeJob& one, const NodeJob& other) {
    return one.job->request.max < other.job->request.max;
  });
  CpuShare left = all - Sum(amounts_);
  for (size_t i = 0; i < others_.size(); ++i) {
    const CpuShare even{left.milli / static_cast<int64_t>(others_.size() - i)};
    const CpuShare amount = std::min(even, CpuShare::OfCores(others_[i].job->request.max));
    left -= amount;
    Give(others_[i], amount, node);
  }
}

void CoreController::Give(const NodeJob& to, CpuShare amount, int node) {
  if (to.job->IsActive() && to.job->amount == amount) return;
  given_[to.rank] = Share{.amount = amount, .node = node};
}

Allocation CoreController::Given(const std::vector<const JobView*>& by_rank) const {
  Allocation allocation;
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (!given_[rank]) continue;
    const JobView& job = *by_rank[rank];
    std::optional<Split> split;
    if (job.service && limits_.lanes)
      split = Split{.inter = given_[rank]->amount.Threads(), .intra = 1};
    // They come in the order of the map.
    allocation.jobs.emplace_hint(allocation.jobs.end(), job.id,
                                 Run{.cores = *given_[rank], .split = split});
  }
  return allocation;
}

}  // namespace cosched
