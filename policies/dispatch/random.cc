// Any queue, each as likely.

#include "policies/dispatch/dispatches.h"

namespace cosched {
namespace {

class RandomQueue final : public Dispatch {
 public:
  explicit RandomQueue(const Random& random) : random_(random) {}
  size_t Next(std::span<const QueueView> queues, const ServerId&, TimePoint) override {
    return random_.Below(queues.size());
  }

 private:
  Random random_;
};

}  // namespace

DispatchInfo RandomDispatch() {
  return {.name = "random",
          .summary = "any of the services, each as likely",
          .source = "Baresi, Quattrocchi, Rasi, ICSOC 2021, its code: RANDOM",
          .make = [](const Parameters&, const Random& random) {
            return std::make_unique<RandomQueue>(random);
          }};
}

}  // namespace cosched
