#include "engine/pool/eigen_adapter.h"

#include <cstring>
#include <typeinfo>
#include <utility>

namespace cosched {
namespace {

thread_local bool helping = false;

// ThreadPoolDevice::parallelFor hands over the root of its tree of ranges and then blocks. It is
// told from other closures by its type, as Eigen offers no other sign; if that ever fails, the
// closure is queued, which is slower but right.
bool IsRootOfLoop(const std::function<void()>& closure) {
  return std::strstr(closure.target_type().name(), "parallelFor") != nullptr;
}

}  // namespace

// The caller of a loop would only wait, so it runs the root itself and goes on with what the root
// queued: on k cores the loop has k threads, not k - 1 and a hop.
void EigenThreadPool::Schedule(std::function<void()> closure) {
  if (helping || pool_.CurrentWorker() >= 0 || !IsRootOfLoop(closure)) {
    pool_.Schedule(std::move(closure));
    return;
  }
  helping = true;
  closure();
  while (pool_.RunOne()) {
  }
  helping = false;
}

void EigenThreadPool::ScheduleWithHint(std::function<void()> closure, int, int) {
  Schedule(std::move(closure));
}

}  // namespace cosched
