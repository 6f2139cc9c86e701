// Cores by equal-share; and of each pipeline the fewest open requests that answer as many requests a
// second as any number that was seen, but for `tolerance`: beyond that knee more of them only make
// each other wait. It measures a number for `explore_windows`, then its neighbours above and below
// the fewest that are good enough, until both are known, and rests there for `rest_windows`; then,
// and when the job's cores change, it forgets all and begins from where it is.
//
// Only windows count at whose begin and end requests waited to be admitted: in others the load says
// how many are answered, not the credits. The first window after a change counts for nobody. One
// answer more or less should be within the tolerance of what is measured; else it finds a knee of
// chance.

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/repartition.h"
#include "policies/running_instances.h"

namespace cosched {
namespace {

struct KneeSettings {
  double tolerance = 0;
  int explore_windows = 0, rest_windows = 0;
};

// The search of one pipeline. REQUIRES: it has an open_range.
class KneeSearch {
 public:
  explicit KneeSearch(const KneeSettings& settings) : settings_(settings) {}

  // A window is over: how many requests may be open from now on.
  int Next(const JobView& job, double length_s, const ServerWindow& window) {
    const int open = job.open_requests;
    const bool waits = window.in_flight > window.open;
    const bool counts = std::exchange(waited_, waits) && waits;
    if (std::exchange(cores_, job.cores.Count()) != job.cores.Count()) {
      Forget();
      return open;
    }
    if (!counts) return open;
    if (rest_ > 0) {
      if (--rest_ == 0) Forget();
      return open;
    }
    answered_ += window.answered;
    length_s_ += length_s;
    if (++windows_ < settings_.explore_windows || answered_ == 0) return open;
    rates_[open] = static_cast<double>(std::exchange(answered_, 0)) / std::exchange(length_s_, 0);
    windows_ = 0;
    const int next = Candidate(job.open_range->most);
    if (rates_.contains(next)) rest_ = settings_.rest_windows;
    if (next != open) waited_ = false;  // What waited did so for another number of credits.
    return next;
  }

 private:
  void Forget() {
    rates_.clear();
    answered_ = 0;
    length_s_ = 0;
    windows_ = rest_ = 0;
  }

  // What to measure next; the knee if nothing is.
  int Candidate(int most) const {
    double best = 0;
    for (const auto& [open, rate] : rates_) best = std::max(best, rate);
    const double enough = (1 - settings_.tolerance) * best;
    const int knee = std::find_if(rates_.begin(), rates_.end(), [&](const auto& seen) {
                       return seen.second >= enough;
                     })->first;
    if (knee < most && !rates_.contains(knee + 1)) return knee + 1;
    if (knee > 1 && !rates_.contains(knee - 1)) return knee - 1;
    return knee;
  }

  const KneeSettings settings_;
  int cores_ = 0;                // On which all this was seen.
  std::map<int, double> rates_;  // Answers a second by open requests.
  bool waited_ = false;          // Requests, at the begin of the window.
  // Of the number that is measured now.
  int64_t answered_ = 0;
  double length_s_ = 0;
  int windows_ = 0;
  int rest_ = 0;  // Windows, still.
};

class CreditKnee final : public Policy {
 public:
  explicit CreditKnee(const KneeSettings& settings) : settings_(settings) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (ChangesQueue(event)) return ShareEqually(view);
    return std::holds_alternative<WindowOver>(event) ? LimitOpen(view) : Allocation();
  }

 private:
  Allocation LimitOpen(const MachineView& view) {
    Allocation allocation;
    std::erase_if(searches_, [&](const auto& one) { return view.Find(one.first) == nullptr; });
    ForEachRunningInstance(
        view, [&](const JobView& job, const ServiceView& service, const ServerWindow& window) {
          if (!job.open_range) return;
          KneeSearch& search = searches_.try_emplace(job.id, settings_).first->second;
          const int open = search.Next(job, ToSeconds(service.length), window);
          if (open == job.open_requests) return;
          allocation.jobs[job.id] = Run{.cores = job.cores, .split = {}, .open_requests = open};
        });
    return allocation;
  }

  const KneeSettings settings_;
  std::map<JobId, KneeSearch> searches_;
};

constexpr std::array<PolicyParameter, 3> kKneeParameters{{
    {"tolerance", "0.02", "number >= 0 and < 1",
     "of the most answers a second: what may be lacking"},
    {"explore_windows", "5", "integer >= 1",
     "windows in which a number of open requests is measured"},
    {"rest_windows", "60", "integer >= 1", "windows at the knee until it is sought again"},
}};

}  // namespace

PolicyInfo CreditKneePolicy() {
  return {.name = "credit-knee",
          .summary =
              "equal-share of cores; of each pipeline the fewest open requests that lose no "
              "answers a second, found by trying",
          .source = "",
          .parameters = kKneeParameters,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<CreditKnee>(
                KneeSettings{.tolerance = NumberOf(parameters, "tolerance"),
                             .explore_windows = IntegerOf(parameters, "explore_windows"),
                             .rest_windows = IntegerOf(parameters, "rest_windows")});
          }};
}

}  // namespace cosched
