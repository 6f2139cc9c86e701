#include "engine/pool/eigen_adapter.h"

#include <utility>

namespace cosched {

void EigenThreadPool::Schedule(std::function<void()> closure) {
  pool_.Schedule(std::move(closure));
}

void EigenThreadPool::ScheduleWithHint(std::function<void()> closure, int, int) {
  Schedule(std::move(closure));
}

}  // namespace cosched
