// STRICT: a job starts only with all the cores it asks for; until they are free it waits, and a
// smaller one behind it that fits may start first, as in the published code. The published
// reassignment of freed cores brings running jobs up to their request: here none is below it, so
// all freed cores go to the queue. Source: Libutti, thesis 2023; reference/papers.md 2.3.

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
      handout.Start(*job, Asked(view, *job));
    return handout.Take();
  }

 private:
  // One that asks for more than the machine has counts as asking for all of it.
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

PolicyInfo StrictPolicy() {
  return {.name = "strict",
          .summary = "starts a job only with all the cores it asks for",
          .source = "Libutti, thesis 2023 (STRICT)",
          .parameters = kParameters,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<Strict>(ParseQueueOrder(parameters.at("order")));
          }};
}

}  // namespace cosched
