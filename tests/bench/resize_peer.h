#pragma once
// What bench_resize measures a thread pool by, ours as well as others: regions of equal tasks, one
// after the other, while another thread asks for another number of threads. Each peer has a file of
// its own, so that its compiler flags stay there.

#include <functional>
#include <memory>

namespace cosched {

class ResizePeer {
 public:
  virtual ~ResizePeer() = default;
  // Runs regions of `tasks` tasks until stop() is true after one. Returns then. `caller` is called
  // first on the thread that begins the regions.
  virtual void Compute(int tasks, const std::function<void()>& task,
                       const std::function<void()>& caller, const std::function<bool()>& stop) = 0;
  // From another thread: that many threads are to compute, 1 or the most.
  virtual void Request(int threads) = 0;
};

std::unique_ptr<ResizePeer> MakeCoschedPeer(int most);
std::unique_ptr<ResizePeer> MakeOpenMpPeer(int most);  // Stock libgomp, omp_set_num_threads.
std::unique_ptr<ResizePeer> MakeOneTbbPeer(int most);  // tbb::global_control.

}  // namespace cosched
