#include "experiments/os/realtime.h"

#include <sched.h>

#include <cerrno>
#include <system_error>

namespace cosched {
namespace {
constexpr int kPriority = 10;
}  // namespace

RealtimeScope::RealtimeScope() {
  const sched_param parameters{.sched_priority = kPriority};
  granted_ = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0;
  description_ = granted_ ? "SCHED_FIFO " + std::to_string(kPriority)
                          : std::string("SCHED_OTHER (SCHED_FIFO refused: ") +
                                std::generic_category().message(errno) + ")";
}

RealtimeScope::~RealtimeScope() {
  // The reset-on-fork flag stays: an unprivileged thread may not drop it, and it harms nobody.
  const sched_param parameters{.sched_priority = 0};
  if (granted_) sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameters);
}

}  // namespace cosched
