#include "engine/pool/malleable_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/thread_start.h"
#include "engine/base/topology.h"
#include "engine/pool/malleable_pool_impl.h"

namespace cosched {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

MalleablePool::Impl::Impl(Options pool_options)
    : options(std::move(pool_options)),
      workers(std::make_unique<PoolWorker[]>(static_cast<size_t>(std::max(options.capacity, 0)))) {
  CHECK(options.capacity >= 0) << "a pool of " << options.capacity << " threads";
  idle.reserve(static_cast<size_t>(options.capacity));
  if (options.lends_to != nullptr) options.lends_to->impl_->lender = this;
  for (int i = 0; i < options.capacity; ++i) {
    // One thread at a time: one that starts runs for a moment, and a crowd of these would disturb
    // the neighbours.
    BinaryEvent started;
    PoolWorker* worker = &workers[static_cast<size_t>(i)];
    worker->index = i;
    const auto record = static_cast<size_t>(i) + 1;  // Behind the pool's own.
    worker->meter.TellTo(record < options.records.size() ? &options.records[record]
                                                         : &worker->record);
    try {
      worker->thread = std::thread([this, worker, &started] { Run(worker, &started); });
    } catch (const std::system_error& error) {
      JoinFirst(i);
      if (options.lends_to != nullptr) options.lends_to->impl_->lender = nullptr;
      throw ThreadError("only " + std::to_string(i) + " of the " +
                            std::to_string(options.capacity) + " threads of the " + options.name +
                            " pool can be started",
                        error);
    }
    started.Wait();
  }
}

// Ends the first `count` workers. REQUIRES: none of them is active.
void MalleablePool::Impl::JoinFirst(int count) {
  {
    const MutexLock lock(mutex);
    stopping = true;
  }
  for (int i = 0; i < count; ++i) {
    workers[static_cast<size_t>(i)].event.Post();
    workers[static_cast<size_t>(i)].thread.join();
  }
}

MalleablePool::Impl::~Impl() {
  {
    const MutexLock lock(mutex);
    on_settled = nullptr;  // The end is nobody's Resize.
  }
  BeginResize(0, {}).Post();
  while (settled.load(std::memory_order_acquire) == 0) FutexWait(&settled, 0);
  JoinFirst(options.capacity);
}

// Idle workers beyond the new target change places without waking; the others notice after their
// task.
void MalleablePool::Impl::LowerTarget(int wanted) {
  target.store(wanted, std::memory_order_relaxed);
  std::erase_if(idle, [this](PoolWorker* worker) {
    if (!Surplus(*worker)) return false;
    worker->state = WorkerState::kParked;
    active.fetch_sub(1, std::memory_order_relaxed);
    return true;
  });
  idlers.store(static_cast<int>(idle.size()), std::memory_order_relaxed);
}

void MalleablePool::Impl::NoteIfSettled() {
  if (resizing || waking > 0 || settled.load(std::memory_order_relaxed) != 0) return;
  if (active.load(std::memory_order_relaxed) != target.load(std::memory_order_relaxed)) return;
  settled.store(1, std::memory_order_release);
  FutexWakeAll(&settled);
  if (on_settled) on_settled(steady_clock::now() - resize_start, grew);
}

MalleablePool::Wakeups MalleablePool::Impl::BeginResize(int wanted, const std::vector<int>& cpus) {
  const auto start = steady_clock::now();
  wanted = std::clamp(wanted, 0, options.capacity);
  const std::lock_guard<std::mutex> resize_lock(resize_mutex);
  {
    const MutexLock lock(mutex);
    settled.store(0, std::memory_order_relaxed);
    resizing = true;
    resize_start = start;
    grew = wanted > target.load(std::memory_order_relaxed);
    if (!grew) LowerTarget(wanted);
  }
  Bind(wanted, cpus);  // Before the wanted wake, so that they wake on their cores.
  Wakeups wakeups;
  {
    const MutexLock lock(mutex);
    target.store(wanted, std::memory_order_relaxed);
    for (int i = 0; i < wanted; ++i) {
      PoolWorker& worker = workers[static_cast<size_t>(i)];
      if (worker.state != WorkerState::kParked) continue;
      worker.state = WorkerState::kWaking;
      ++waking;
      const int cpu = static_cast<size_t>(i) < cpus.size() ? cpus[static_cast<size_t>(i)] : -1;
      wakeups.sleepers_.push_back({&worker.event, cpu});
    }
    resizing = false;
    NoteIfSettled();
  }
  return wakeups;
}

void MalleablePool::Impl::Bind(int wanted, const std::vector<int>& cpus) {
  if (options.topology == nullptr) return;
  for (int i = 0; i < std::min(wanted, static_cast<int>(cpus.size())); ++i) {
    const int cpu = cpus[static_cast<size_t>(i)];
    if (cpu < 0) continue;
    // Always, even to the same core: the kernel forgets a thread's pin when the cpuset changes. A
    // worker that the machine refuses to bind (a CPU outside of the process's cpuset) runs where it
    // was.
    options.topology->BindThread(workers[static_cast<size_t>(i)].tid, {cpu});
  }
}

void MalleablePool::Impl::ParallelFor(int tasks, FunctionRef<void(int)> body) {
  if (tasks <= 1 || options.capacity == 0) {
    for (int i = 0; i < tasks; ++i) body(i);
    return;
  }
  Loop loop(tasks, body);
  WakeList first;
  AddUntaken(1);
  {
    const MutexLock lock(mutex);
    loop.next = loops;
    if (loops != nullptr) loops->previous = &loop;
    loops = &loop;
    first = Announce(loop.TakeWakeUps(kFanOut));
  }
  first.Post();
  InviteGuests(tasks - 1);
  loop.Work([] { return false; });
  AddUntaken(-1);
  Yields yields = Yields::kOnRequest;
  {
    const MutexLock lock(mutex);
    yields = loop.HowToYield();
    (loop.previous == nullptr ? loops : loop.previous->next) = loop.next;
    if (loop.next != nullptr) loop.next->previous = loop.previous;
  }
  loop.WaitForWorkers(options.spin, yields,
                      calling_worker.worker == nullptr ? nullptr : &calling_worker.worker->meter);
}

void MalleablePool::Impl::Schedule(std::function<void()> closure) {
  WakeList woken;
  {
    const MutexLock lock(mutex);
    if (options.when_empty == WhenEmpty::kQueue || active.load(std::memory_order_relaxed) > 0) {
      closures.push_back(std::move(closure));
      AddUntaken(1);
      queued.store(static_cast<int>(closures.size()), std::memory_order_relaxed);
      woken = Announce(1);
      closure = nullptr;
    }
  }
  woken.Post();
  if (closure) closure();
}

MalleablePool::MalleablePool(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

MalleablePool::~MalleablePool() = default;

int MalleablePool::Capacity() const { return impl_->options.capacity; }

int MalleablePool::Idle() const {
  return impl_->looking.load(std::memory_order_relaxed) +
         impl_->idlers.load(std::memory_order_relaxed);
}

int MalleablePool::Target() const { return impl_->target.load(std::memory_order_relaxed); }

int MalleablePool::Active() const { return impl_->active.load(std::memory_order_relaxed); }

void MalleablePool::Resize(int workers, const std::vector<int>& cpus) {
  BeginResize(workers, cpus).Post();
}

MalleablePool::Wakeups MalleablePool::BeginResize(int workers, const std::vector<int>& cpus) {
  return impl_->BeginResize(workers, cpus);
}

void MalleablePool::Wakeups::Add(const Wakeups& other) {
  sleepers_.insert(sleepers_.end(), other.sleepers_.begin(), other.sleepers_.end());
}

void MalleablePool::Wakeups::Post() {
  const int here = sched_getcpu();
  std::partition(sleepers_.begin(), sleepers_.end(),
                 [here](const Sleeper& sleeper) { return sleeper.cpu != here; });
  for (const Sleeper& sleeper : sleepers_) sleeper.event->Post();
}

bool MalleablePool::Settled() const { return impl_->settled.load(std::memory_order_acquire) != 0; }

void MalleablePool::OnSettled(std::function<void(nanoseconds, bool)> callback) {
  impl_->on_settled = std::move(callback);
}

void MalleablePool::ParallelFor(int tasks, FunctionRef<void(int)> body) {
  impl_->ParallelFor(tasks, body);
}

void MalleablePool::SetGuests(int limit) {
  impl_->guests.store(static_cast<uint32_t>(std::max(limit, 0)), std::memory_order_relaxed);
}

void MalleablePool::Schedule(std::function<void()> closure) { impl_->Schedule(std::move(closure)); }

bool MalleablePool::RunOne() {
  MutexLock lock(impl_->mutex);
  if (impl_->closures.empty()) return false;
  impl_->RunClosure(&lock);
  return true;
}

int MalleablePool::Queued() const {
  const MutexLock lock(impl_->mutex);
  return static_cast<int>(impl_->closures.size());
}

bool MalleablePool::OnSurplusWorker() const {
  return calling_worker.pool == impl_.get() && impl_->Surplus(*calling_worker.worker) &&
         !calling_worker.worker->draining;
}

int MalleablePool::CurrentWorker() const {
  return calling_worker.pool == impl_.get() ? calling_worker.worker->index : -1;
}

void MalleablePool::SetActivity(const std::string* what) {
  if (calling_worker.pool == impl_.get())
    calling_worker.worker->activity.store(what, std::memory_order_release);
}

const std::string* MalleablePool::Activity() const {
  for (int i = impl_->options.capacity - 1; i >= 0; --i) {
    const PoolWorker& worker = impl_->workers[static_cast<size_t>(i)];
    const std::string* what = worker.activity.load(std::memory_order_acquire);
    if (what != nullptr) return what;
  }
  return nullptr;
}

std::vector<int> MalleablePool::ThreadIds() const {
  std::vector<int> ids;
  ids.reserve(static_cast<size_t>(impl_->options.capacity));
  for (int i = 0; i < impl_->options.capacity; ++i) {
    ids.push_back(impl_->workers[static_cast<size_t>(i)].tid);
  }
  return ids;
}

}  // namespace cosched
