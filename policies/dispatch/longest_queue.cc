// The queue in which most requests wait.

#include "policies/dispatch/best_queue.h"
#include "policies/dispatch/dispatches.h"

namespace cosched {
namespace {

class LongestQueue final : public Dispatch {
 public:
  size_t Next(std::span<const QueueView> queues, const ServerId&, TimePoint) override {
    return LeastQueue(queues, [](const QueueView& queue) { return -queue.length; });
  }
};

}  // namespace

DispatchInfo LongestQueueDispatch() {
  return {
      .name = "longest-queue",
      .summary = "the service with the longest queue",
      .source = "Baresi, Quattrocchi, Rasi, ICSOC 2021, its code: LONGEST_QUEUE",
      .make = [](const Parameters&, const Random&) { return std::make_unique<LongestQueue>(); }};
}

}  // namespace cosched
