// The queues of a server in turn: the next one after that it was last given, by service.

#include <map>

#include "policies/dispatch/dispatches.h"

namespace cosched {
namespace {

class RoundRobinOfQueues final : public Dispatch {
 public:
  size_t Next(std::span<const QueueView> queues, const ServerId& server, TimePoint) override {
    ServiceId& last = last_[server];
    size_t next = 0;
    while (next < queues.size() && queues[next].service <= last) ++next;
    if (next == queues.size()) next = 0;
    last = queues[next].service;
    return next;
  }

 private:
  std::map<ServerId, ServiceId> last_;
};

}  // namespace

DispatchInfo RoundRobinDispatch() {
  return {.name = "round-robin",
          .summary = "the services in turn",
          .source = "Baresi, Quattrocchi, Rasi, ICSOC 2021, its code: ROUND_ROBIN",
          .make = [](const Parameters&, const Random&) {
            return std::make_unique<RoundRobinOfQueues>();
          }};
}

}  // namespace cosched
