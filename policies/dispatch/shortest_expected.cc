// The request that this server answers fastest: non-preemptive shortest expected processing time.

#include "policies/dispatch/best_queue.h"
#include "policies/dispatch/dispatches.h"

namespace cosched {
namespace {

class ShortestExpected final : public Dispatch {
 public:
  size_t Next(std::span<const QueueView> queues, const ServerId&, TimePoint) override {
    return LeastQueue(
        queues, [](const QueueView& queue) { return queue.expected.value_or(Duration::max()); });
  }
};

}  // namespace

DispatchInfo ShortestExpectedDispatch() {
  return {.name = "shortest-expected",
          .summary = "the service whose front request this server answers fastest",
          .source = "Cobham, Operations Research 1954",
          .needs_expected = true,
          .make = [](const Parameters&, const Random&) {
            return std::make_unique<ShortestExpected>();
          }};
}

}  // namespace cosched
