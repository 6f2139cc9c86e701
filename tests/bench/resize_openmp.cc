// The number of threads of an OpenMP program can only be changed for regions that have not begun,
// and only by the thread that begins them: it looks for a request before each one.

#include <omp.h>

#include <atomic>

#include "tests/bench/resize_peer.h"

namespace cosched {
namespace {

class OpenMpPeer final : public ResizePeer {
 public:
  explicit OpenMpPeer(int most) : wanted_(most) {}

  void Compute(int tasks, const std::function<void()>& task, const std::function<void()>& caller,
               const std::function<bool()>& stop) override {
    caller();
    omp_set_dynamic(0);
    while (!stop()) {
      omp_set_num_threads(wanted_.load(std::memory_order_relaxed));
#pragma omp parallel for schedule(dynamic, 1)
      for (int i = 0; i < tasks; ++i) task();
    }
  }
  void Request(int threads) override { wanted_.store(threads, std::memory_order_relaxed); }

 private:
  std::atomic<int> wanted_;
};

}  // namespace

std::unique_ptr<ResizePeer> MakeOpenMpPeer(int most) { return std::make_unique<OpenMpPeer>(most); }

}  // namespace cosched
