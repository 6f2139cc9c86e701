// As Clockwork orders requests (Gujarati et al., OSDI 2020, 4): service times are known, so those
// that can still meet their deadline go first, by their deadlines, and hopeless ones last. Clockwork
// refuses these; here every request is answered.

#include <utility>

#include "policies/dispatch/best_queue.h"
#include "policies/dispatch/dispatches.h"

namespace cosched {
namespace {

class Clockwork final : public Dispatch {
 public:
  size_t Next(std::span<const QueueView> queues, const ServerId&, TimePoint now) override {
    return LeastQueue(queues, [now](const QueueView& queue) {
      const bool is_hopeless = queue.oldest_deadline - queue.expected.value_or(Duration(0)) < now;
      return std::pair(is_hopeless, queue.oldest_deadline);
    });
  }
};

}  // namespace

DispatchInfo ClockworkDispatch() {
  return {.name = "clockwork",
          .summary = "earliest deadline among those that can be met, hopeless requests last",
          .source = "Gujarati et al., OSDI 2020, 4",
          .needs_deadline = true,
          .needs_expected = true,
          .make = [](const Parameters&, const Random&) { return std::make_unique<Clockwork>(); }};
}

}  // namespace cosched
