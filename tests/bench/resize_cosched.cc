// Our pools, measured as the others are.

#include <latch>

#include "engine/base/topology.h"
#include "engine/pool/thread_pools.h"
#include "tests/bench/resize_peer.h"

namespace cosched {
namespace {

class CoschedPeer final : public ResizePeer {
 public:
  explicit CoschedPeer(int most)
      : topology_(Topology::ThisMachine()),
        pools_({1, most}, ThreadPools::Binding::kEachToItsCore, &topology_) {
    Request(most);
  }

  void Compute(int tasks, const std::function<void()>& task, const std::function<void()>& caller,
               const std::function<bool()>& stop) override {
    std::latch ended(1);
    pools_.inter().Schedule([&] {
      caller();
      while (!stop()) pools_.intra().ParallelFor(tasks, [&](int) { task(); });
      ended.count_down();
    });
    ended.wait();
  }
  void Request(int threads) override {
    CpuSet cores;
    for (int cpu : topology_.Cpus()) {
      if (cores.Count() < threads) cores.Add(cpu);
    }
    pools_.Resize(cores, {1, threads});
  }

 private:
  const Topology topology_;
  ThreadPools pools_;
};

}  // namespace

std::unique_ptr<ResizePeer> MakeCoschedPeer(int most) {
  return std::make_unique<CoschedPeer>(most);
}

}  // namespace cosched
