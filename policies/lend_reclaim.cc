// Idle cores are lent and taken back on demand. A job that starts owns the cores it asks for, to
// its end; it starts once that many are owned by nobody, whether they are idle or lent. Cores that
// nobody owns are lent to running malleable jobs, in equal numbers as far as their max goes; when
// one that waits can own them they are taken back, and no job ever has fewer than it owns. Rigid
// and moldable jobs own and do not borrow: their threads would not follow. Sources: M. Garcia,
// J. Corbalan, J. Labarta, "LeWI: A runtime balancing algorithm for nested parallelism", ICPP 2009
// (lend when idle, reclaim); M. D'Amico et al., "DROM: Enabling efficient and effortless
// malleability for resource managers", ICPP Workshops 2018 (a node's running jobs shrink so that
// another starts). There a process lends while it waits for messages; jobs here never block, so a
// core is idle when no job owns it.

#include <algorithm>
#include <climits>
#include <vector>

#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/repartition.h"

namespace cosched {
namespace {

class LendReclaim final : public Policy {
 public:
  explicit LendReclaim(QueueOrder order) : order_(order) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    int not_owned = view.cores.Count();
    std::vector<Owner> owners;
    const auto own = [&](const JobView& job) {
      owners.push_back({&job, CoresAsked(view, job)});
      not_owned -= owners.back().cores;
    };
    for (const JobView& job : view.jobs.Running()) own(job);
    const JobView* job = nullptr;
    while (not_owned > 0 && (job = NextThatFits(view, not_owned, job))) own(*job);

    std::vector<CoreBounds> loans;
    loans.reserve(owners.size());
    for (const Owner& owner : owners) {
      const bool borrows = owner.job->elasticity == Elasticity::kMalleable;
      loans.push_back({0, borrows ? std::max(0, owner.job->request.max - owner.cores) : 0});
    }
    const std::vector<int> lent = DivideEqually(loans, not_owned);
    Allocation allocation;
    for (size_t i = 0; i < owners.size(); ++i)
      GiveCores(*owners[i].job, owners[i].cores + lent[i], &allocation);
    return allocation;
  }

 private:
  struct Owner {
    const JobView* job;
    int cores;  // That it owns.
  };

  // A job that asks for more than the machine has counts as asking for all of it.
  const JobView* NextThatFits(const MachineView& view, int free, const JobView* after) const {
    const bool all = free == view.cores.Count();
    return view.jobs.NextAskingAtMost(all ? INT_MAX : free, order_, after);
  }

  const QueueOrder order_;
};

constexpr PolicyParameter kParameters[] = {
    {"order", "fcfs", kQueueOrders, "who is next in the queue"},
};

}  // namespace

PolicyInfo LendReclaimPolicy() {
  return {.name = "lend-reclaim",
          .summary =
              "a job owns what it asks for; idle cores are lent and taken back on demand; later "
              "jobs that fit overtake earlier ones that do not",
          .source = "Garcia et al., ICPP 2009 (LeWI); D'Amico et al., ICPP Workshops 2018 (DROM)",
          .parameters = kParameters,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<LendReclaim>(ParseQueueOrder(parameters.at("order")));
          }};
}

}  // namespace cosched
