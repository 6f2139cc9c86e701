// The request that is to be answered first: earliest deadline first among the queues' fronts.

#include "policies/dispatch/best_queue.h"
#include "policies/dispatch/dispatches.h"

namespace cosched {
namespace {

class EarliestDeadline final : public Dispatch {
 public:
  size_t Next(std::span<const QueueView> queues, const ServerId&, TimePoint) override {
    return LeastQueue(queues, [](const QueueView& queue) { return queue.oldest_deadline; });
  }
};

}  // namespace

DispatchInfo EarliestDeadlineDispatch() {
  return {.name = "earliest-deadline",
          .summary = "the service whose front request has the earliest deadline (slo_ms)",
          .source = "Liu, Layland, J. ACM 1973",
          .needs_deadline = true,
          .make = [](const Parameters&, const Random&) {
            return std::make_unique<EarliestDeadline>();
          }};
}

}  // namespace cosched
