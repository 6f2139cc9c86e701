#pragma once
// A MalleablePool in oneDNN's words. The number of threads it reports is how many tasks primitives
// are made of, the session's capacity at most, and never changes; how many workers run them is the
// pool's business. Included by thread_pools.cc and tests only; others take ThreadPools::onednn().

#include <cstdint>
#include <functional>
#include <oneapi/dnnl/dnnl_threadpool_iface.hpp>

#include "engine/pool/malleable_pool.h"

namespace cosched {

class OnednnThreadPool final : public dnnl::threadpool_interop::threadpool_iface {
 public:
  OnednnThreadPool(MalleablePool* pool, int tasks) : pool_(*pool), tasks_(tasks) {}

  int get_num_threads() const override { return tasks_; }
  // True inside a task of oneDNN's, on whatever thread runs it: oneDNN then does not divide its
  // work again. It does in loops of ours, whose threads without a task may join.
  bool get_in_parallel() const override;
  void parallel_for(int n, const std::function<void(int, int)>& fn) override;
  uint64_t get_flags() const override { return 0; }  // parallel_for returns when all is done.

 private:
  MalleablePool& pool_;
  const int tasks_;
};

}  // namespace cosched
