// oneTBB's own way to limit its threads while it runs.

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include "tests/bench/resize_peer.h"

namespace cosched {
namespace {

class OneTbbPeer final : public ResizePeer {
 public:
  explicit OneTbbPeer(int most) : most_(most) { Request(most); }

  void Compute(int tasks, const std::function<void()>& task, const std::function<void()>& caller,
               const std::function<bool()>& stop) override {
    caller();
    tbb::task_arena arena(most_);
    arena.execute([&] {
      while (!stop()) {
        tbb::parallel_for(
            tbb::blocked_range<int>(0, tasks, 1),
            [&](const tbb::blocked_range<int>& range) {
              for (int i = range.begin(); i < range.end(); ++i) task();
            },
            tbb::simple_partitioner());
      }
    });
  }
  // The lowest of all controls counts, so the old one goes; the new one first, or there would be a
  // moment without limit.
  void Request(int threads) override {
    auto control = std::make_unique<tbb::global_control>(
        tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));
    control_.swap(control);
  }

 private:
  const int most_;
  std::unique_ptr<tbb::global_control> control_;
};

}  // namespace

std::unique_ptr<ResizePeer> MakeOneTbbPeer(int most) { return std::make_unique<OneTbbPeer>(most); }

}  // namespace cosched
