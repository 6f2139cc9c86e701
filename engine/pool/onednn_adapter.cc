#include "engine/pool/onednn_adapter.h"

#include <utility>

namespace cosched {
namespace {

// Whether the calling thread runs a task of oneDNN's.
thread_local bool in_task = false;

}  // namespace

bool OnednnThreadPool::get_in_parallel() const { return in_task; }

void OnednnThreadPool::parallel_for(int n, const std::function<void(int, int)>& fn) {
  pool_.ParallelFor(n, [&fn, n](int i) {
    const bool before = std::exchange(in_task, true);
    fn(i, n);
    in_task = before;
  });
}

}  // namespace cosched
