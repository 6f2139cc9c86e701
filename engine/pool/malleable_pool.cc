#include "engine/pool/malleable_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <system_error>
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
  // Of the threads that there are not yet; the first record is the pool's own.
  for (size_t i = 1; i < options.records.size(); ++i)
    options.records[i].without_work.store(1, std::memory_order_relaxed);
  if (options.lends_to != nullptr) options.lends_to->impl_->lender = this;
}

// Threads for the first `count` workers, with resize_mutex held. One at a time: one that starts runs
// for a moment, and a crowd of these would disturb the neighbours.
void MalleablePool::Impl::Make(int count, const std::vector<int>& cpus) {
  struct Start {
    Impl* pool;
    PoolWorker* worker;
    BinaryEvent started;
  };
  for (int i = made.load(std::memory_order_relaxed); i < count; ++i) {
    PoolWorker* worker = &workers[static_cast<size_t>(i)];
    Start start{this, worker, {}};
    const bool is_bound = options.topology != nullptr && static_cast<size_t>(i) < cpus.size();
    worker->index = i;
    const auto record = static_cast<size_t>(i) + 1;  // Behind the pool's own.
    worker->meter.TellTo(record < options.records.size() ? &options.records[record]
                                                         : &worker->record);
    try {
      worker->thread = StartThreadOn(
          is_bound ? cpus[static_cast<size_t>(i)] : -1,
          [](void* argument) -> void* {
            auto* const start = static_cast<Start*>(argument);
            start->pool->Run(start->worker, &start->started);
            return nullptr;
          },
          &start);
    } catch (const std::system_error& error) {
      throw ThreadError("only " + std::to_string(i) + " of the " + std::to_string(count) +
                            " threads of the " + options.name + " pool can be started",
                        error);
    }
    start.started.Wait();
    made.store(i + 1, std::memory_order_release);
  }
}

MalleablePool::Impl::~Impl() {
  {
    const MutexLock lock(mutex);
    CHECK(held == 0) << "the " << options.name << " pool ends in the middle of a loop";
    on_settled = nullptr;  // The end is nobody's Resize.
  }
  BeginResize(0, {}).Post();
  while (settled.load(std::memory_order_acquire) == 0) FutexWait(&settled, 0);
  if (options.lends_to != nullptr) options.lends_to->impl_->lender = nullptr;
  {
    const MutexLock lock(mutex);
    stopping = true;
  }
  for (int i = 0; i < made.load(std::memory_order_relaxed); ++i) {
    workers[static_cast<size_t>(i)].event.Post();
    pthread_join(workers[static_cast<size_t>(i)].thread, nullptr);
  }
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
  Make(wanted, cpus);
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
    WakeWanted(wanted, cpus, &wakeups);
    resizing = false;
    NoteIfSettled();
  }
  return wakeups;
}

// Who is held in the middle of a loop goes on as soon as anyone may, and leaves after its piece if it
// is surplus; till then it shares a core with one that is wanted.
void MalleablePool::Impl::WakeWanted(int wanted, const std::vector<int>& cpus, Wakeups* wakeups) {
  const bool others = wanted > 0 && held + released > 0;
  const int last = others ? made.load(std::memory_order_relaxed) : wanted;
  for (int i = 0; i < last; ++i) {
    PoolWorker& worker = workers[static_cast<size_t>(i)];
    const bool is_held = worker.state == WorkerState::kHeld;
    const int place = i < wanted ? i : i % wanted;
    if (i >= wanted && (is_held || worker.released)) Bind(worker, cpus, place);
    if (!is_held && (i >= wanted || worker.state != WorkerState::kParked)) continue;
    worker.state = WorkerState::kWaking;
    ++waking;
    const auto index = static_cast<size_t>(place);
    wakeups->sleepers_.push_back({&worker.event, index < cpus.size() ? cpus[index] : -1});
  }
}

void MalleablePool::Impl::Bind(int wanted, const std::vector<int>& cpus) {
  for (int i = 0; i < wanted; ++i) Bind(workers[static_cast<size_t>(i)], cpus, i);
}

// Always, even to the same core: the kernel forgets a thread's pin when the cpuset changes. A worker
// that the machine refuses to bind (a CPU outside of the process's cpuset) runs where it was.
void MalleablePool::Impl::Bind(const PoolWorker& worker, const std::vector<int>& cpus, int place) {
  const auto index = static_cast<size_t>(place);
  if (options.topology == nullptr || index >= cpus.size() || cpus[index] < 0) return;
  options.topology->BindThread(worker.tid, {cpus[index]});
}

void MalleablePool::Impl::ParallelFor(int tasks, FunctionRef<void(int)> body) {
  if (tasks <= 1 || options.capacity == 0) {
    for (int i = 0; i < tasks; ++i) body(i);
    return;
  }
  Loop loop(tasks, body);
  WakeList first;
  AddUntaken(1);
  bool has_door = false;
  {
    const MutexLock lock(mutex);
    has_door = !door_taken.load(std::memory_order_acquire);
    if (has_door) door_taken.store(true, std::memory_order_relaxed);
    loop.Open(has_door ? &door : nullptr);
    loop.next = loops;
    if (loops != nullptr) loops->previous = &loop;
    loops = &loop;
    running.fetch_add(1);
    first = Announce(loop.TakeWakeUps(kFanOut));
  }
  first.Post();
  InviteGuests(tasks - 1);
  Work(&loop);
  AddUntaken(-1);
  {
    const MutexLock lock(mutex);
    running.fetch_sub(1, std::memory_order_relaxed);
    loop.Door()->Close();
    (loop.previous == nullptr ? loops : loop.previous->next) = loop.next;
    if (loop.next != nullptr) loop.next->previous = loop.previous;
  }
  loop.WaitForWorkers(options.spin,
                      calling_worker.worker == nullptr ? nullptr : &calling_worker.worker->meter);
  if (has_door) door_taken.store(false, std::memory_order_release);
}

void MalleablePool::Impl::Schedule(std::function<void()> closure) {
  WakeList woken;
  {
    const MutexLock lock(mutex);
    if (options.when_empty == WhenEmpty::kQueue || active.load(std::memory_order_relaxed) > 0) {
      closures.push_back(std::move(closure));
      AddUntaken(1);
      queued.store(static_cast<int>(closures.size()));
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

void MalleablePool::Prepare(int workers, const std::vector<int>& cpus) {
  const std::lock_guard<std::mutex> resize_lock(impl_->resize_mutex);
  impl_->Make(std::min(workers, impl_->options.capacity), cpus);
}

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

nanoseconds MalleablePool::TimeHeld() { return time_held; }

int MalleablePool::CurrentWorker() const {
  return calling_worker.pool == impl_.get() ? calling_worker.worker->index : -1;
}

void MalleablePool::SetActivity(const std::string* what) {
  if (calling_worker.pool == impl_.get())
    calling_worker.worker->activity.store(what, std::memory_order_release);
}

const std::string* MalleablePool::Activity() const {
  for (int i = impl_->made.load(std::memory_order_acquire) - 1; i >= 0; --i) {
    const PoolWorker& worker = impl_->workers[static_cast<size_t>(i)];
    const std::string* what = worker.activity.load(std::memory_order_acquire);
    if (what != nullptr) return what;
  }
  return nullptr;
}

std::vector<int> MalleablePool::ThreadIds() const {
  std::vector<int> ids;
  for (int i = 0; i < impl_->made.load(std::memory_order_acquire); ++i) {
    ids.push_back(impl_->workers[static_cast<size_t>(i)].tid);
  }
  return ids;
}

}  // namespace cosched
