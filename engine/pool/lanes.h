#pragma once
// Threads that take work from their owner's queue, as many at a time as the owner opens: the lanes of
// an InferenceService and of a Pipeline. They wait for their work's end without computing, so they
// are no compute threads. The owner's mutex guards its queue and this; what REQUIRES it says so.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cosched {

class Lanes {
 public:
  // The kernel shows their threads as "<name>/<number>".
  Lanes(std::mutex* mutex, std::string name, size_t count);
  ~Lanes();  // Stops.
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  size_t Count() const { return wakes_.size(); }
  // Calls `serve` once on the thread of each lane; what it throws ends the others, too. Throws
  // ThreadError if not all can be started, after stopping those that were. REQUIRES: once.
  void Start(const std::function<void(size_t lane)>& serve);
  void Stop();  // Ends them and waits for it.
  // Blocks until `serve` has returned on each. Throws what one of them threw, as soon as it has.
  void WaitUntilOver();

  // These REQUIRE the mutex.
  bool Ended() const { return stopping_ || error_ != nullptr; }  // Whoever serves returns.
  bool IsOpen(size_t lane) const { return lane < open_; }
  void Open(size_t count);  // Those before may take work; looks again at all of them.
  void WakeOne();           // An open lane that sleeps, if there is one.
  void WakeAll();
  void Fail(const std::exception_ptr& error);  // As if one of them had thrown it.
  // Until somebody wakes the lane, or that time.
  void Sleep(size_t lane, std::unique_lock<std::mutex>* lock,
             std::optional<std::chrono::steady_clock::time_point> until = std::nullopt);

 private:
  struct Wake {
    std::condition_variable news;
    bool idle = false;
  };
  void Serve(size_t lane, const std::function<void(size_t)>& serve);

  std::mutex& mutex_;
  std::string name_;
  std::vector<Wake> wakes_;  // By lane.
  size_t open_ = 0;
  size_t ended_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::condition_variable over_;
  std::vector<std::thread> threads_;  // By lane.
};

}  // namespace cosched
