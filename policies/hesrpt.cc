// heSRPT: at each arrival and each end all cores are divided among all jobs, more to those that
// have less left, so that they end in the order of their sizes and no core is wasted on one that
// gains little from it. With the jobs numbered from the largest (1) to the smallest (m), speed
// k^p on k cores, weights w_i and z(i) = w_1 + … + w_i, job i gets the share
//   (z(i) / z(m))^(1 / (1 - p)) - (z(i - 1) / z(m))^(1 / (1 - p)).
// w_i = 1 minimises the mean turnaround of jobs that are all there, w_i = 1 / size the mean
// slowdown. Sources: B. Berg, R. Vesilo, M. Harchol-Balter, "heSRPT: Parallel scheduling to
// minimize mean slowdown", Performance Evaluation 144, 2020; arXiv:1903.09346.
// Cores are whole: by largest remainder, within min and max, a job without its min waits or is
// paused, and what nobody's share takes goes to the smallest. The threads of rigid jobs, and of
// moldable ones after their start, do not follow: they get no more cores than threads, and fewer
// oversubscribe them.

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/base/portable_math.h"
#include "policies/job_size.h"
#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/repartition.h"

namespace cosched {
namespace {

struct Share {
  const JobView* job;
  double seconds_left;  // On one core.
  double weight;
  int most;          // Cores.
  double cores = 0;  // As the formula has it.
  int granted = 0;

  int Step() const { return granted == 0 ? job->request.min : 1; }
  bool CanTake(int free) const { return Step() <= free && granted + Step() <= most; }
};

// Divides `cores` among the shares, from the largest job to the smallest; one that is given more
// than its max keeps that, and the others divide the rest.
void Divide(std::vector<Share*> shares, double cores, double p) {
  for (bool capped = true; capped && !shares.empty();) {
    capped = false;
    double total = 0, sum = 0;
    for (const Share* share : shares) total += share->weight;
    for (Share* share : shares) {
      const double below = sum > 0 ? PortablePow(sum / total, 1 / (1 - p)) : 0;
      sum += share->weight;
      share->cores = cores * (PortablePow(sum / total, 1 / (1 - p)) - below);
    }
    for (Share*& share : shares) {
      if (share->cores <= share->most) continue;
      share->cores = share->most;
      cores -= share->most;
      share = nullptr;
      capped = true;
    }
    std::erase(shares, nullptr);
  }
}

class Hesrpt final : public Policy {
 public:
  Hesrpt(std::optional<double> exponent, bool for_slowdown)
      : exponent_(exponent), for_slowdown_(for_slowdown) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event) || view.jobs.size() == 0) return {};
    std::vector<Share> shares;
    for (const JobView& job : view.jobs) {
      const double left = SecondsLeft(view, job, 1);
      const double size = static_cast<double>(job.steps) / job.speed->At(1);
      shares.push_back({&job, left, for_slowdown_ ? 1 / size : 1, UsefulCores(job)});
    }
    // Among equals the one that came first counts as the smaller.
    std::reverse(shares.begin(), shares.end());
    std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
      return a.seconds_left > b.seconds_left;
    });
    const int cores = view.cores.Count();
    std::vector<Share*> all;
    std::vector<const JobView*> jobs;
    for (Share& share : shares) {
      all.push_back(&share);
      jobs.push_back(share.job);
    }
    Divide(all, cores, exponent_ ? *exponent_ : FitSpeedExponent(jobs, cores));
    RoundToCores(cores, &shares);
    Allocation allocation;
    for (const Share& share : shares) GiveCores(*share.job, share.granted, &allocation);
    return allocation;
  }

 private:
  static void RoundToCores(int free, std::vector<Share>* shares) {
    std::vector<Share*> by_remainder;
    for (Share& share : *shares) {
      const int whole = static_cast<int>(share.cores + 1e-9);  // 2.9999999 is 3.
      share.granted = whole >= share.job->request.min ? whole : 0;
      free -= share.granted;
      by_remainder.push_back(&share);
    }
    std::reverse(by_remainder.begin(), by_remainder.end());  // Among equals the smallest first.
    const auto remainder = [](const Share* s) { return (s->cores - s->granted) / s->Step(); };
    std::stable_sort(by_remainder.begin(), by_remainder.end(),
                     [&](const Share* a, const Share* b) { return remainder(a) > remainder(b); });
    for (Share* share : by_remainder) Take(share, share->Step(), &free);
    for (auto share = shares->rbegin(); share != shares->rend() && free > 0; ++share) {
      Take(&*share, share->Step(), &free);
      Take(&*share, std::min(free, share->most - share->granted), &free);
    }
  }

  static void Take(Share* share, int cores, int* free) {
    if (!share->CanTake(*free) || cores <= 0) return;
    share->granted += cores;
    *free -= cores;
  }

  const std::optional<double> exponent_;
  const bool for_slowdown_;
};

constexpr PolicyParameter kParameters[] = {
    {"p", "fit", "fit | number > 0 and < 1", "speed is k^p on k cores; fit = to the jobs' curves"},
    {"minimize", "turnaround", "turnaround | slowdown", "the mean that is made small"},
};

}  // namespace

PolicyInfo HesrptPolicy() {
  return {.name = "hesrpt",
          .summary = "divides the cores among all jobs, more to those that have less left",
          .source = "Berg et al., Performance Evaluation 144, 2020 (heSRPT)",
          .parameters = kParameters,
          .needs_speed = true,
          .on_settled = false,
          .needs_size = true,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            std::optional<double> exponent;
            if (parameters.at("p") != "fit") exponent = NumberOf(parameters, "p");
            return std::make_unique<Hesrpt>(exponent, parameters.at("minimize") == "slowdown");
          }};
}

}  // namespace cosched
