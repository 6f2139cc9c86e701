// STRICT: a job starts only with all the cores it asks for. The queue is passed through from its
// front, and every job that fits into the free cores starts: a later one that fits overtakes an
// earlier one that does not, as in the published code. No cores are kept free for the one that was
// overtaken, so smaller jobs that keep coming can hold it back without limit (easy-backfill
// reserves for the first). order = "priority" changes who is looked at first, not that. The
// published reassignment of freed cores brings running jobs up to their request: here none is below
// it, so all freed cores go to the queue. Source: Libutti, thesis 2023.

#include <climits>

#include "policies/queue_order.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class Strict final : public Policy {
 public:
  explicit Strict(QueueOrder order) : order_(order) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    Handout handout(view);
    const JobView* job = nullptr;
    while (handout.free() > 0 && (job = NextThatFits(view, handout.free(), job)))
      handout.Start(*job, CoresAsked(view, *job));
    return handout.Take();
  }

 private:
  // A job that asks for more than the machine has counts as asking for all of it.
  const JobView* NextThatFits(const MachineView& view, int free, const JobView* after) const {
    const bool all = free == view.cores.Count();
    return view.jobs.NextAskingAtMost(all ? INT_MAX : free, order_, after);
  }

  const QueueOrder order_;
};

constexpr PolicyParameter kParameters[] = {
    {"order", "fcfs", kQueueOrders, "who of those that fit is first"},
};

}  // namespace

PolicyInfo StrictPolicy() {
  return {.name = "strict",
          .summary =
              "starts the first in the queue that fits, with all the cores it asks for; later "
              "jobs that fit overtake earlier ones that do not, however long these wait",
          .source = "Libutti, thesis 2023 (STRICT)",
          .parameters = kParameters,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<Strict>(ParseQueueOrder(parameters.at("order")));
          }};
}

}  // namespace cosched
