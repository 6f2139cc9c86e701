// ALWAYS_ATTEND: nobody waits for a full grant. A job gets all it asks for if that is free, else
// whatever is free, as long as it can run on it (published: split in the ratio inter : intra, so
// the sum is the same). Cores that become free first bring running jobs up to what they asked,
// oldest first, then serve the queue; one in it whose min is not free is passed over. Source:
// Libutti, thesis 2023.
// Published "at least 2 free cores" (one inter, one intra thread) is the job's min here.

#include <algorithm>

#include "policies/queue_order.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class AlwaysAttend final : public Policy {
 public:
  explicit AlwaysAttend(QueueOrder order) : order_(order) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    Handout handout(view);
    if (FreesCores(event)) handout.GrowOldestFirst(view);
    for (const JobView& job : view.jobs.Waiting(order_)) {
      if (handout.free() == 0) break;
      const int grant = std::min(CoresAsked(view, job), handout.free());
      if (grant >= job.request.min) handout.Start(job, grant);
    }
    return handout.Take();
  }

 private:
  const QueueOrder order_;
};

constexpr PolicyParameter kParameters[] = {
    {"order", "fcfs", kQueueOrders, "who is next in the queue"},
};

}  // namespace

PolicyInfo AlwaysAttendPolicy() {
  return {.name = "always-attend",
          .summary =
              "starts a job with what is free of all that it asks for, and grows it to that "
              "later; jobs whose min is free overtake earlier ones whose min is not",
          .source = "Libutti, thesis 2023 (ALWAYS_ATTEND)",
          .parameters = kParameters,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<AlwaysAttend>(ParseQueueOrder(parameters.at("order")));
          }};
}

}  // namespace cosched
