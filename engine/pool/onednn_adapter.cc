#include "engine/pool/onednn_adapter.h"

namespace cosched {
namespace {

thread_local int task_depth = 0;

}  // namespace

bool OnednnThreadPool::get_in_parallel() const { return task_depth > 0; }

void OnednnThreadPool::parallel_for(int n, const std::function<void(int, int)>& fn) {
  pool_.ParallelFor(n, [&fn, n](int i) {
    ++task_depth;
    fn(i, n);
    --task_depth;
  });
}

}  // namespace cosched
