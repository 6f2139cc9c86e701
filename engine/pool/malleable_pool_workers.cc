// What the workers of a malleable pool do: wait, serve loops and closures, help other pools.

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/pool/malleable_pool_impl.h"

namespace cosched {
namespace {

void NameThisThread(const std::string& name, int index) {
  constexpr size_t kLongestName = 15;  // The kernel's limit.
  const std::string suffix = "/" + std::to_string(index);
  pthread_setname_np(pthread_self(),
                     (name.substr(0, kLongestName - suffix.size()) + suffix).c_str());
}

}  // namespace

MalleablePool::Impl::WakeList MalleablePool::Impl::PopIdle(int count) {
  WakeList list;
  while (list.count < std::min(count, kFanOut) && !idle.empty()) {
    idle.back()->state = WorkerState::kActive;
    list.workers[static_cast<size_t>(list.count++)] = idle.back();
    idle.pop_back();
  }
  idlers.store(static_cast<int>(idle.size()), std::memory_order_relaxed);
  return list;
}

// There is work for `wanted` workers: those that look already need no waking. Each that takes work
// hands on the news.
MalleablePool::Impl::WakeList MalleablePool::Impl::Announce(int wanted) {
  WakeList list = PopIdle(wanted - looking.load());
  list.news = &news;
  return list;
}

// The running loop with the fewest workers, so that loops that run at once share them; the newest
// of equals, because a nested loop holds up the outer one.
Loop* MalleablePool::Impl::PickLoop() const {
  Loop* best = nullptr;
  for (Loop* loop = loops; loop != nullptr; loop = loop->next) {
    if (loop->Remaining() > 0 && (best == nullptr || loop->Attached() < best->Attached())) {
      best = loop;
    }
  }
  return best;
}

// Parks a surplus worker. False if it must first run a closure that nobody else would: see
// WhenEmpty::kRunInCaller. Work that it was woken for goes to an idle worker.
bool MalleablePool::Impl::Park(PoolWorker* worker, WakeList* baton) {
  if (!closures.empty() || PickLoop() != nullptr) *baton = PopIdle(1);
  if (options.when_empty == WhenEmpty::kRunInCaller && !closures.empty() &&
      active.load(std::memory_order_relaxed) == 1) {
    return false;
  }
  worker->state = WorkerState::kParked;
  released -= worker->released ? 1 : 0;
  worker->released = false;
  active.fetch_sub(1, std::memory_order_relaxed);
  NoteIfSettled();
  return true;
}

void MalleablePool::Impl::Run(PoolWorker* worker, BinaryEvent* started) {
  calling_worker = {.pool = this, .worker = worker};
  pthread_setname_np(pthread_self(), "pool");  // Not its maker's: some look for workers by name.
  priority.Take();
  worker->tid = gettid();
  worker->meter.SetWork(false);
  started->Post();
  bool named = false;
  while (true) {
    worker->meter.Sleep([worker] {
      worker->event.Wait();
    });  // Parked or idle; in the middle of a loop it sleeps in Hold.
    MutexLock lock(mutex);
    if (stopping) return;
    if (worker->state == WorkerState::kWaking) {
      --waking;
      worker->state = Surplus(*worker) ? WorkerState::kParked : WorkerState::kActive;
      if (worker->state == WorkerState::kActive) {
        active.fetch_add(1, std::memory_order_relaxed);
        if (!named) NameThisThread(options.name, worker->index);
        named = true;
      }
      NoteIfSettled();
      worker->look_budget = {};  // Others share its core now, or none.
    } else if (worker->state == WorkerState::kActive) {
      worker->look_budget.Slept(std::chrono::steady_clock::now() - worker->look_start,
                                options.spin);
    }
    if (worker->state == WorkerState::kActive) Serve(worker, &lock);
  }
}

// An active worker's life until it is parked or idle.
void MalleablePool::Impl::Serve(PoolWorker* worker, MutexLock* lock) {
  bool looked = false, lent_in_vain = false;
  while (true) {
    if (Surplus(*worker)) {
      WakeList baton;
      const bool parked = Park(worker, &baton);
      if (parked) {
        lock->Unlock();
        baton.Post();
        return;
      }
      worker->draining = true;
      RunClosure(lock);
      worker->draining = false;
    } else if (!closures.empty()) {
      RunClosure(lock);
      looked = lent_in_vain = false;
    } else if (Loop* loop = PickLoop()) {
      looked = RunLoop(worker, loop, lock);
      lent_in_vain = false;
    } else if (options.lends_to != nullptr && !lent_in_vain) {
      lent_in_vain = !Lend(worker, lock);  // Without the lock: all above may hold now.
      if (!lent_in_vain) looked = false;
    } else if (!looked) {
      const uint32_t seen = news.load(std::memory_order_relaxed);
      lock->Unlock();
      looked = !Look(worker, seen, Yields::kOnRequest, lock);
      lent_in_vain = false;
    } else {
      worker->state = WorkerState::kIdle;
      idle.push_back(worker);
      idlers.store(static_cast<int>(idle.size()), std::memory_order_relaxed);
      return;
    }
  }
}

void MalleablePool::Impl::RunClosure(MutexLock* lock) {
  std::function<void()> closure = std::move(closures.front());
  closures.pop_front();
  AddUntaken(-1);
  queued.store(static_cast<int>(closures.size()), std::memory_order_relaxed);
  WakeList more = closures.empty() ? WakeList() : Announce(1);
  lock->Unlock();
  more.Post();
  const bool own =
      calling_worker.pool == this;  // Or a caller of RunOne, which has work of its own.
  if (own) {
    calling_worker.worker->meter.SetWork(true);
    calling_worker.worker->meter.BeginTask();
  }
  closure();
  if (own) calling_worker.worker->activity.store(nullptr, std::memory_order_relaxed);
  closure = nullptr;  // What it holds is freed before anyone can see this worker parked.
  if (own) calling_worker.worker->meter.SetWork(false);
  lock->Lock();
}

// True if it has then looked for other work in vain. After the only loop it looks before it takes
// the lock again: the loop's caller needs the lock just now, to end this loop and to begin the
// next.
bool MalleablePool::Impl::RunLoop(PoolWorker* worker, Loop* loop, MutexLock* lock) {
  const bool only = closures.empty() && loops == loop && loop->next == nullptr;
  const uint32_t seen = news.load(std::memory_order_relaxed);
  loop->Door()->Enter();
  lock->Unlock();
  const Yields yields = WorkIn(worker, loop);
  if (only) return !Look(worker, seen, yields, lock);
  lock->Lock();
  return false;
}

// Further sleepers for a loop that the calling thread is in.
void MalleablePool::Impl::WakeMore(Loop* loop) {
  if (idlers.load(std::memory_order_relaxed) == 0) return;
  WakeList more;
  {
    const MutexLock lock(mutex);
    more = PopIdle(loop->TakeWakeUps(kFanOut));
  }
  more.Post();
}

// In a loop that the worker has entered.
template <typename Predicate>
void MalleablePool::Impl::WorkAndLeave(PoolWorker* worker, Loop* loop, Predicate leave) {
  LoopDoor* const entered = loop->Door();
  worker->meter.SetWork(true);
  loop->Work(&worker->meter, leave);
  entered->Leave();
  worker->meter.SetWork(false);
}

Yields MalleablePool::Impl::WorkIn(PoolWorker* worker, Loop* loop) {
  loop->NoteCpu();
  const Yields yields = loop->HowToYield();
  WakeMore(loop);
  WorkAndLeave(worker, loop, [this, worker] { return Surplus(*worker); });
  return yields;
}

// The caller's part of its loop. A worker of another pool that is paused leaves its core after a
// task, with the loop unfinished: a piece of an op may be as many tasks as the capacity, and would
// take one worker too long. Not within a task of another loop, whose caller waits for the task's
// end; nor where somebody may wait for closures of the paused pool.
void MalleablePool::Impl::Work(Loop* loop) {
  auto* const own = static_cast<Impl*>(calling_worker.pool);
  WorkMeter* const meter = own == nullptr ? nullptr : &calling_worker.worker->meter;
  if (own == nullptr || own == this || loops_within > 0 ||
      own->options.when_empty != WhenEmpty::kQueue) {
    loop->Work(meter, [] { return false; });
    return;
  }
  while (true) {
    loop->Work(meter, [own] { return own->target.load(std::memory_order_relaxed) == 0; });
    if (loop->Remaining() == 0) return;
    own->Hold(calling_worker.worker);
  }
}

// Until this pool is wanted again, whether or not the worker is.
void MalleablePool::Impl::Hold(PoolWorker* worker) {
  {
    const MutexLock lock(mutex);
    if (target.load(std::memory_order_relaxed) > 0) return;
    worker->state = WorkerState::kHeld;
    ++held;
    active.fetch_sub(1, std::memory_order_relaxed);
    NoteIfSettled();
  }
  worker->meter.SetWork(false);
  const auto begin = std::chrono::steady_clock::now();
  worker->meter.Sleep([worker] { worker->event.Wait(); });
  time_held += std::chrono::steady_clock::now() - begin;
  worker->meter.SetWork(true);
  const MutexLock lock(mutex);
  --held;
  --waking;
  if (Surplus(*worker) && !worker->released) {
    worker->released = true;
    ++released;
  }
  worker->state = WorkerState::kActive;
  active.fetch_add(1, std::memory_order_relaxed);
  worker->look_budget = {};  // Others share its core now, or none.
  NoteIfSettled();
}

// The loop that is all the work there is, entered; else null.
Loop* MalleablePool::Impl::EnterOnlyLoop(const PoolWorker& worker) {
  if (Surplus(worker) || queued.load(std::memory_order_relaxed) > 0 ||
      running.load(std::memory_order_relaxed) != 1) {
    return nullptr;
  }
  return door.Enter();
}

// Work that came while the calling worker was taken for one that looks: for a sleeper instead.
void MalleablePool::Impl::HandOn() {
  if (idlers.load() == 0) return;
  if (queued.load() == 0 && running.load() <= 1) return;
  WakeList baton;
  {
    const MutexLock lock(mutex);
    baton = PopIdle(1);
  }
  baton.Post();
}

// Spins for work that came after `seen`. Where that is one loop the worker takes part in it at once
// and looks again, without the lock: all helpers would ask for it at the same moment. Returns with
// the lock held, false if there was no news in the end.
bool MalleablePool::Impl::Look(PoolWorker* worker, uint32_t seen, Yields yields, MutexLock* lock) {
  while (true) {
    worker->look_start = std::chrono::steady_clock::now();
    looking.fetch_add(1, std::memory_order_relaxed);
    const auto spin = worker->look_budget.Of(options.spin);
    const bool found = SpinUntil(worker->look_start, spin, yields, &worker->meter, [&] {
      return news.load(std::memory_order_relaxed) != seen || Surplus(*worker);
    });
    if (found) worker->look_budget.Found();
    seen = news.load(std::memory_order_acquire);  // Before the look at what there is.
    Loop* const loop = found ? EnterOnlyLoop(*worker) : nullptr;
    if (loop == nullptr) {
      lock->Lock();
      looking.fetch_sub(1, std::memory_order_relaxed);
      return found;
    }
    looking.fetch_sub(1);
    HandOn();
    yields = WorkIn(worker, loop);
  }
}

// Takes part in a loop of the other pool until that has no more tasks, or there is a closure here;
// false if it found none.
bool MalleablePool::Impl::Lend(PoolWorker* worker, MutexLock* lock) {
  Impl& other = *options.lends_to->impl_;
  if (other.guests.load(std::memory_order_relaxed) == 0) return false;
  lock->Unlock();
  const bool lent = other.HostGuest(
      worker, [&] { return Surplus(*worker) || queued.load(std::memory_order_relaxed) > 0; });
  lock->Lock();
  return lent;
}

template <typename Predicate>
bool MalleablePool::Impl::HostGuest(PoolWorker* guest, Predicate leave) {
  Loop* loop = nullptr;
  {
    const MutexLock lock(mutex);
    loop = PickLoop();
    if (loop == nullptr || loop->Attached() >= guests.load(std::memory_order_relaxed)) return false;
    loop->Door()->Enter();
  }
  loop->NoteCpu();
  InviteGuests(loop->Remaining() - 1);
  WorkAndLeave(guest, loop, leave);
  return true;
}

// Workers that may be lent, and look for work or sleep, hear of a loop with room for them. One that
// is just going to sleep may miss it.
void MalleablePool::Impl::InviteGuests(int tasks) {
  Impl* from = lender.load(std::memory_order_relaxed);
  const auto most = static_cast<int>(guests.load(std::memory_order_relaxed));
  if (from == nullptr || most == 0) return;
  const int looking_there = from->looking.load(std::memory_order_relaxed);
  if (looking_there > 0) from->news.fetch_add(1, std::memory_order_release);
  const int wanted = std::min(tasks, most) - looking_there;
  if (wanted <= 0 || from->idlers.load(std::memory_order_relaxed) == 0) return;
  WakeList woken;
  {
    const MutexLock lock(from->mutex);
    woken = from->PopIdle(wanted);
  }
  woken.Post();
}

}  // namespace cosched
