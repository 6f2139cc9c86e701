#pragma once
// An engine's pools as what a control thread moves. As thread-safe as ThreadPools.

#include <functional>
#include <utility>

#include "experiments/tenant/placed_threads.h"
#include "experiments/tenant/steered_threads.h"

namespace cosched {

class PoolThreads final : public SteeredThreads {
 public:
  // They outlive it.
  explicit PoolThreads(ThreadPools* pools) : pools_(*pools) {}

  int64_t Resize(const ResizeRequest& request) override { return pools_.Resize(request); }
  WantedThreads Wanted() const override { return pools_.Wanted(); }
  bool Settled() const override { return pools_.Settled(); }
  void OnResized(std::function<void(const ResizeReport&)> report) override {
    pools_.OnResized(std::move(report));
  }
  ThreadPools::ResizeTimes Times() const override { return pools_.Times(); }
  CpuSet Cores() const override { return pools_.Cores(); }
  Split Current() const override { return pools_.Current(); }
  int ActiveThreads() const override { return pools_.ActiveThreads(); }
  std::function<bool(int)> Placed() const override { return PlacedThreadsOf(&pools_); }

 private:
  ThreadPools& pools_;
};

}  // namespace cosched
