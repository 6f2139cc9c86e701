// EASY backfilling (easy_backfill.cc) of jobs of which some are malleable. A malleable job counts
// with its min: what it holds beyond that is lent to it, and taken back for whoever may start. So
// the first of the queue starts as soon as it fits beside the others' least sizes, its start is
// reserved by these, and later jobs may start that do not delay it. Rigid and moldable jobs start
// with all that they ask for and are never resized; if all are, this is easy-backfill. The strategy
// says with what a malleable job starts, who gives cores back first, and who is lent those that
// are left over:
//   min        starts with its min; the one furthest above its min gives first, the one least above
//              it grows first, each as far as it goes
//   pref       starts with what it prefers, as far as that is free or lent beyond others'
//              preference; the one furthest above what it prefers gives first, down to that, and
//              below only if that is not enough; all grow to what they prefer before anybody grows
//              beyond
//   keep-pref  the same, but nobody grows beyond what it prefers
//   avg        starts with its min; cores come and go one by one, so that all have the same part of
//              the way from their min to their max
// Sources: J. Posner, F. Hupfeld, P. Finnerty, "Enhancing Supercomputer Performance with Malleable
// Job Scheduling Strategies", Euro-Par 2023 workshops, for min, pref and avg (in its artefact's
// variant with a common pool); P. Zojer, J. Posner, T. Özden, arXiv:2602.17318, for the idea of
// keep-pref, whose rules are ours. Ours is, too, that the reservation counts least sizes; theirs
// takes cores for whoever waits, so that a wide job may be overtaken without end.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "policies/job_size.h"
#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/reservation.h"

namespace cosched {
namespace {

enum class LendingStrategy { kMin, kPref, kKeepPref, kAverage };

bool IsResizable(const JobView& job) { return job.elasticity == Elasticity::kMalleable; }

// A malleable job that runs, or starts now.
struct Borrower {
  const JobView* job;
  int least, preferred, most;
  int cores;  // Once this decision is made.

  double Part() const { return static_cast<double>(cores - least) / std::max(1, most - least); }
};

// The cores of the machine while they are being dealt out.
class Lending {
 public:
  Lending(const MachineView& view, LendingStrategy strategy)
      : view_(view), strategy_(strategy), free_(view.cores.Count()) {
    for (const JobView& job : view.jobs.Running()) {
      const int cores = job.cores.Count();
      Hold(job, cores);
      free_ -= cores;
    }
  }

  // What the job can't do with less than.
  int LeastOf(const JobView& job) const {
    return IsResizable(job) ? job.request.min : CoresAsked(view_, job);
  }
  // Cores that nobody has, or that can be taken back.
  int Room() const { return free_ + lent_; }

  // REQUIRES: LeastOf(job) <= Room().
  void Start(const JobView& job) {
    const int least = LeastOf(job);
    int cores = least;
    if (IsResizable(job) && Prefers())
      cores = std::max(least, std::min(free_ + BeyondPreference(), CoresAsked(view_, job)));
    TakeBack(cores - free_);
    CHECK(cores <= free_) << cores << " cores of " << free_;
    free_ -= cores;
    Hold(job, cores);
    if (!IsResizable(job)) allocation_.jobs[job.id] = Run{.cores = cores, .split = {}};
  }

  // Of the first of the queue, as soon as it fits beside the others' least sizes.
  Reservation StartOf(const JobView& head) const {
    std::vector<ExpectedEnd> ends;
    ends.reserve(holders_.size());
    for (const Holder& holder : holders_)
      ends.push_back({SecondsLeft(view_, *holder.job, holder.least), holder.least});
    return ReserveStart(std::move(ends), Room(), LeastOf(head));
  }

  // Lends what is left over.
  Allocation Take() {
    if (strategy_ == LendingStrategy::kMin) Lend(&Borrower::least, &Borrower::most);
    if (Prefers()) Lend(&Borrower::preferred, &Borrower::preferred);
    if (strategy_ == LendingStrategy::kPref) Lend(&Borrower::preferred, &Borrower::most);
    if (strategy_ == LendingStrategy::kAverage) LendOneByOne();
    for (const Borrower& borrower : borrowers_) {
      if (borrower.cores != borrower.job->cores.Count())
        allocation_.jobs[borrower.job->id] = Run{.cores = borrower.cores, .split = {}};
    }
    return std::move(allocation_);
  }

 private:
  struct Holder {
    const JobView* job;
    int least;
  };
  using Size = int Borrower::*;

  bool Prefers() const {
    return strategy_ == LendingStrategy::kPref || strategy_ == LendingStrategy::kKeepPref;
  }

  void Hold(const JobView& job, int cores) {
    const int least = IsResizable(job) ? job.request.min : cores;
    holders_.push_back({&job, least});
    if (!IsResizable(job)) return;
    const int most = std::min(job.request.max, view_.cores.Count());
    borrowers_.push_back({&job, least, CoresAsked(view_, job), most, cores});
    lent_ += cores - least;
  }

  int BeyondPreference() const {
    int cores = 0;
    for (const Borrower& borrower : borrowers_)
      cores += std::max(0, borrower.cores - borrower.preferred);
    return cores;
  }

  void Move(Borrower* borrower, int cores) {  // From the free ones; negative: back to them.
    borrower->cores += cores;
    lent_ += cores;
    free_ -= cores;
  }

  void TakeBack(int count) {
    if (count <= 0) return;
    const int enough = free_ + count;
    if (strategy_ == LendingStrategy::kAverage) {
      while (free_ < enough) Move(FurthestFromMin(), -1);
      return;
    }
    if (Prefers()) Reclaim(&Borrower::preferred, &Borrower::preferred, enough);
    Reclaim(Prefers() ? &Borrower::preferred : &Borrower::least, &Borrower::least, enough);
  }

  // Those furthest above `base` give first, each down to `down_to`, until so many are free.
  void Reclaim(Size base, Size down_to, int enough) {
    for (Borrower* borrower : Ordered(base, false)) {
      const int gives = std::min(borrower->cores - borrower->*down_to, enough - free_);
      if (gives > 0) Move(borrower, -gives);
    }
  }

  // Those furthest below `base` get first, each up to `up_to`.
  void Lend(Size base, Size up_to) {
    if (free_ == 0) return;
    for (Borrower* borrower : Ordered(base, true)) {
      const int gets = std::min(borrower->*up_to - borrower->cores, free_);
      if (gets > 0) Move(borrower, gets);
    }
  }

  // By how far they are above `base`; equal ones by their start.
  std::vector<Borrower*> Ordered(Size base, bool ascending) {
    std::vector<Borrower*> order;
    order.reserve(borrowers_.size());
    for (Borrower& borrower : borrowers_) order.push_back(&borrower);
    std::stable_sort(order.begin(), order.end(), [=](const Borrower* a, const Borrower* b) {
      const int above_a = a->cores - a->*base, above_b = b->cores - b->*base;
      return ascending ? above_a < above_b : above_a > above_b;
    });
    return order;
  }

  Borrower* FurthestFromMin() {
    return &*std::max_element(
        borrowers_.begin(), borrowers_.end(),
        [](const Borrower& a, const Borrower& b) { return a.Part() < b.Part(); });
  }

  void LendOneByOne() {
    while (free_ > 0 && !borrowers_.empty()) {
      const auto next =
          std::min_element(borrowers_.begin(), borrowers_.end(),
                           [](const Borrower& a, const Borrower& b) { return Rank(a) < Rank(b); });
      if (next->cores >= next->most) return;
      Move(&*next, 1);
    }
  }
  // Those that can't grow come last.
  static double Rank(const Borrower& borrower) {
    return borrower.cores >= borrower.most ? 2.0 : borrower.Part();
  }

  const MachineView& view_;
  const LendingStrategy strategy_;
  int free_;
  int lent_ = 0;                     // Beyond least sizes.
  std::vector<Holder> holders_;      // All that run or start now, with their least sizes.
  std::vector<Borrower> borrowers_;  // The malleable ones of them.
  Allocation allocation_;            // Of the others.
};

class EasyMalleable final : public Policy {
 public:
  EasyMalleable(LendingStrategy strategy, QueueOrder order) : strategy_(strategy), order_(order) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    Lending lending(view, strategy_);
    std::optional<Reservation> reserved;  // For the first that does not fit.
    for (const JobView& job : view.jobs.Waiting(order_)) {
      const int least = lending.LeastOf(job);
      if (lending.Room() == 0) break;
      if (least > lending.Room()) {
        if (!reserved) reserved = lending.StartOf(job);
        continue;
      }
      const bool may_delay = reserved && SecondsLeft(view, job, least) > reserved->start_s;
      if (may_delay && least > reserved->spare) continue;
      if (may_delay) reserved->spare -= least;
      lending.Start(job);
    }
    return lending.Take();
  }

 private:
  const LendingStrategy strategy_;
  const QueueOrder order_;
};

constexpr PolicyParameter kMalleableParameters[] = {
    {"strategy", "pref", "min | pref | keep-pref | avg",
     "how malleable jobs start, give cores back and grow"},
    {"order", "fcfs", kQueueOrders, "who is next in the queue"},
};

LendingStrategy ParseLendingStrategy(std::string_view text) {
  if (text == "min") return LendingStrategy::kMin;
  if (text == "pref") return LendingStrategy::kPref;
  if (text == "keep-pref") return LendingStrategy::kKeepPref;
  CHECK(text == "avg") << text;
  return LendingStrategy::kAverage;
}

}  // namespace

PolicyInfo EasyMalleablePolicy() {
  return {.name = "easy-malleable",
          .summary = "easy-backfill, where malleable jobs give cores back to those that may start",
          .source =
              "Posner, Hupfeld, Finnerty, Euro-Par 2023 workshops; Zojer, Posner, Ozden, "
              "arXiv:2602.17318 (keep-pref)",
          .parameters = kMalleableParameters,
          .needs_speed = true,
          .on_settled = false,
          .needs_size = true,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<EasyMalleable>(ParseLendingStrategy(parameters.at("strategy")),
                                                   ParseQueueOrder(parameters.at("order")));
          }};
}

}  // namespace cosched
