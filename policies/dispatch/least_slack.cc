// The request that can wait least: deadline less the time that its service takes on this server.

#include "policies/dispatch/best_queue.h"
#include "policies/dispatch/dispatches.h"

namespace cosched {
namespace {

class LeastSlack final : public Dispatch {
 public:
  size_t Next(std::span<const QueueView> queues, const ServerId&, TimePoint) override {
    return LeastQueue(queues, [](const QueueView& queue) {
      return queue.oldest_deadline - queue.expected.value_or(Duration(0));
    });
  }
};

}  // namespace

DispatchInfo LeastSlackDispatch() {
  return {.name = "least-slack",
          .summary = "the service whose front request has the least time to spare (slo_ms)",
          .source = "Mok, PhD thesis, MIT 1983",
          .needs_deadline = true,
          .needs_expected = true,
          .make = [](const Parameters&, const Random&) { return std::make_unique<LeastSlack>(); }};
}

}  // namespace cosched
