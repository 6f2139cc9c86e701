#pragma once
// The inside of a malleable pool. Used by malleable_pool.cc, which makes, resizes and asks it, and
// by malleable_pool_workers.cc, which is what its workers do.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/thread_start.h"
#include "engine/pool/loop.h"
#include "engine/pool/malleable_pool.h"
#include "engine/pool/pool_worker.h"
#include "engine/pool/spin.h"
#include "engine/pool/work_record.h"

namespace cosched {

struct MalleablePool::Impl {
  // Workers that a loop's caller wakes itself. Each of them wakes as many again while tasks remain,
  // so that the caller of a loop of some microseconds pays for four wake-ups at most, and the last of
  // 128 is woken by the fourth in a row.
  static constexpr int kFanOut = 4;

  explicit Impl(Options pool_options);
  ~Impl();

  // Whom to tell of new work once the lock is released, so that they do not run into it.
  struct WakeList {
    std::array<PoolWorker*, kFanOut> workers;
    int count = 0;
    std::atomic<uint32_t>* news = nullptr;
    void Post() {
      if (news != nullptr) news->fetch_add(1, std::memory_order_release);
      for (int i = 0; i < count; ++i) workers[static_cast<size_t>(i)]->event.Post();
    }
  };

  bool Surplus(const PoolWorker& worker) const {
    return worker.index >= target.load(std::memory_order_relaxed);
  }
  // All of these are called with `mutex` held.
  WakeList PopIdle(int count);
  WakeList Announce(int wanted);
  Loop* PickLoop() const;
  void LowerTarget(int workers);
  void NoteIfSettled();
  bool Park(PoolWorker* worker, WakeList* baton);

  void Work(Loop* loop);
  void Hold(PoolWorker* worker);
  void Make(int count, const std::vector<int>& cpus);
  void Run(PoolWorker* worker, BinaryEvent* started);
  void Serve(PoolWorker* worker, MutexLock* lock);
  void RunClosure(MutexLock* lock);
  bool RunLoop(PoolWorker* worker, Loop* loop, MutexLock* lock);
  Loop* EnterOnlyLoop(const PoolWorker& worker);
  void HandOn();
  void WakeMore(Loop* loop);
  Yields WorkIn(PoolWorker* worker, Loop* loop);
  template <typename Predicate>
  static void WorkAndLeave(PoolWorker* worker, Loop* loop, Predicate leave);
  bool Look(PoolWorker* worker, uint32_t seen, Yields yields, MutexLock* lock);
  bool Lend(PoolWorker* worker, MutexLock* lock);
  template <typename Predicate>
  bool HostGuest(PoolWorker* guest, Predicate leave);
  void InviteGuests(int tasks);

  Wakeups BeginResize(int workers, const std::vector<int>& cpus);
  void Bind(int workers, const std::vector<int>& cpus);
  void Bind(const PoolWorker& worker, const std::vector<int>& cpus, int place);
  void WakeWanted(int wanted, const std::vector<int>& cpus, Wakeups* wakeups);
  void ParallelFor(int tasks, FunctionRef<void(int)> body);
  void Schedule(std::function<void()> closure);
  // Work of which nobody has taken the last part yet came, or went (WorkRecord::untaken).
  void AddUntaken(int32_t change) {
    if (!options.records.empty())
      options.records[0].untaken.fetch_add(change, std::memory_order_relaxed);
  }

  const Options options;
  const ThreadPriority priority = ThreadPriority::OfThisThread();  // The maker's of the pool.
  const std::unique_ptr<PoolWorker[]> workers;
  std::function<void(std::chrono::nanoseconds, bool)> on_settled;
  std::mutex resize_mutex;   // Held through one Resize; taken before `mutex`.
  std::atomic<int> made{0};  // Workers that have a thread; written with resize_mutex held.

  // Watched by everyone, changed by Resize with `mutex` held.
  alignas(kCacheLine) std::atomic<int> target{0};
  std::atomic<int> active{0};  // Workers kActive or kIdle.
  std::atomic<uint32_t> settled{1};

  // Active workers that spin until `news` changes. Raised without the lock; lowered with it, or with
  // a look for other work behind it (HandOn): who is counted here looks for work once more before
  // it sleeps, so it needs no waking.
  alignas(kCacheLine) std::atomic<int> looking{0};
  // Changed without the lock, after work was added, and released: who sees news sees the work, too,
  // or would take it for looked at (Look). Alone on its line, which all lookers read.
  alignas(kCacheLine) std::atomic<uint32_t> news{0};

  // The other pool, which lends its idle workers; set by its constructor.
  alignas(kCacheLine) std::atomic<Impl*> lender{nullptr};
  std::atomic<uint32_t> guests{0};  // SetGuests.
  // Sizes of `idle`, `closures` and `loops`, for a look without the lock.
  std::atomic<int> idlers{0};
  std::atomic<int> queued{0};
  std::atomic<int> running{0};
  // One loop at a time has it; its workers come and go without the lock.
  LoopDoor door;
  std::atomic<bool> door_taken{false};

  alignas(kCacheLine) mutable Mutex mutex;  // Guards all below.
  Loop* loops = nullptr;                    // Newest first.
  std::vector<PoolWorker*> idle;  // The one that slept last is woken first: its cache is warm.
  std::deque<std::function<void()>> closures;
  int waking = 0;
  int held = 0;
  int released = 0;
  bool resizing = false;  // A Resize is still binding: not settled before it is done.
  bool grew = false;
  bool stopping = false;
  std::chrono::steady_clock::time_point resize_start;
};

}  // namespace cosched
