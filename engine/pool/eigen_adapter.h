#pragma once
// A MalleablePool in Eigen's words. The number of threads it reports decides how Eigen divides its
// work, so it is the session's capacity and never changes. An Eigen caller blocks until its
// closures have run: the pool must be WhenEmpty::kRunInCaller. Included by thread_pools.cc and
// tests only; others take ThreadPools::eigen().

#ifndef EIGEN_USE_THREADS
#define EIGEN_USE_THREADS
#endif
#include <functional>
#include <unsupported/Eigen/CXX11/Tensor>

#include "engine/pool/malleable_pool.h"

namespace cosched {

class EigenThreadPool final : public Eigen::ThreadPoolInterface {
 public:
  EigenThreadPool(MalleablePool* pool, int threads) : pool_(*pool), threads_(threads) {}

  void Schedule(std::function<void()> closure) override;
  void ScheduleWithHint(std::function<void()> closure, int start, int end) override;
  int NumThreads() const override { return threads_; }
  int CurrentThreadId() const override { return pool_.CurrentWorker(); }

 private:
  MalleablePool& pool_;
  const int threads_;
};

}  // namespace cosched
