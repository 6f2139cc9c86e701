// MAX_PROP: free cores are shared among all who wait, in proportion to their requests: each gets
// preferred / F with F = (sum requested by all in the queue) / (free cores), at least its min, at
// most its max. F < 1 gives more than was asked. Cores that become free are first added in equal
// shares to the running jobs. Source: Libutti, thesis 2023. F is taken once per event, before the
// first start; under priority over the highest waiting class. A job whose min is not left is passed
// over.

#include <algorithm>

#include "policies/queue_order.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class MaxProp final : public Policy {
 public:
  explicit MaxProp(QueueOrder order) : order_(order) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    Handout handout(view);
    if (FreesCores(event)) AddEqualShares(view, &handout);
    const JobSequence waiting = view.jobs.Waiting(order_);
    const int free = handout.free();
    const int64_t requested = Requested(view, waiting);
    for (const JobView& job : waiting) {
      // preferred / F in integers: int(q / (requested / free)) without rounding errors.
      const int64_t share = int64_t{CoresAsked(view, job)} * free / requested;
      const CoreRequest& request = job.request;
      const int grant = static_cast<int>(std::clamp<int64_t>(share, request.min, request.max));
      const int clipped = std::min(grant, handout.free());
      if (clipped >= request.min) handout.Start(job, clipped);
    }
    return handout.Take();
  }

 private:
  static void AddEqualShares(const MachineView& view, Handout* handout) {
    const JobSequence running = view.jobs.Running();
    if (running.empty()) return;
    const int share = handout->free() / static_cast<int>(running.size());
    for (const JobView& job : running) handout->Grow(job, share);
  }

  int64_t Requested(const MachineView& view, JobSequence waiting) const {
    int64_t sum = 0;
    for (const JobView& job : waiting) {
      const bool other_class =
          order_ == QueueOrder::kPriority && job.priority != waiting.front().priority;
      if (!other_class) sum += CoresAsked(view, job);
    }
    return sum;
  }

  const QueueOrder order_;
};

constexpr PolicyParameter kParameters[] = {
    {"order", "fcfs", kQueueOrders, "who is next in the queue"},
};

}  // namespace

PolicyInfo MaxPropPolicy() {
  return {.name = "max-prop",
          .summary =
              "adds freed cores to running jobs in equal parts, then shares what is free among "
              "the queue in proportion to the requests; jobs whose min is left overtake "
              "earlier ones whose min is not",
          .source = "Libutti, thesis 2023 (MAX_PROP)",
          .parameters = kParameters,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<MaxProp>(ParseQueueOrder(parameters.at("order")));
          }};
}

}  // namespace cosched
