#include "engine/pool/onednn_adapter.h"

namespace cosched {

bool OnednnThreadPool::get_in_parallel() const { return MalleablePool::InTask(); }

void OnednnThreadPool::parallel_for(int n, const std::function<void(int, int)>& fn) {
  pool_.ParallelFor(n, [&fn, n](int i) { fn(i, n); });
}

}  // namespace cosched
