#include "engine/pool/malleable_pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/thread_start.h"
#include "engine/base/topology.h"
#include "engine/pool/futex.h"
#include "engine/pool/loop.h"
#include "engine/pool/spin.h"

namespace cosched {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// Workers that a loop's caller wakes itself. Each of them wakes as many again while tasks remain,
// so that the caller of a loop of some microseconds pays for two wake-ups at most.
constexpr int kFanOut = 2;

enum class State {
  kParked,  // asleep, not wanted
  kWaking,  // wanted and posted, not yet awake
  kActive,  // awake
  kIdle,    // wanted, asleep until there is work; counts as active
};

struct alignas(kCacheLine) Worker {
  int index = 0;
  int tid = 0;  // Written before the constructor returns.
  State state = State::kParked;
  bool draining = false;  // Only its own thread reads and writes it.
  std::atomic<const std::string*> activity{nullptr};
  BinaryEvent event;
  WorkMeter meter;
  WorkRecord record;  // Where the pool was given none for it.
  std::thread thread;
};

// The calling thread as a worker; a thread belongs to at most one pool.
struct Self {
  const void* pool = nullptr;
  Worker* worker = nullptr;
};
thread_local Self self;

void NameThisThread(const std::string& name, int index) {
  constexpr size_t kLongestName = 15;  // The kernel's limit.
  const std::string suffix = "/" + std::to_string(index);
  pthread_setname_np(pthread_self(),
                     (name.substr(0, kLongestName - suffix.size()) + suffix).c_str());
}

}  // namespace

struct MalleablePool::Impl {
  explicit Impl(Options pool_options);
  ~Impl();

  // Whom to tell of new work once the lock is released, so that they do not run into it.
  struct WakeList {
    std::array<Worker*, kFanOut> workers;
    int count = 0;
    std::atomic<uint32_t>* news = nullptr;
    void Post() {
      if (news != nullptr) news->fetch_add(1, std::memory_order_relaxed);
      for (int i = 0; i < count; ++i) workers[static_cast<size_t>(i)]->event.Post();
    }
  };

  bool Surplus(const Worker& worker) const {
    return worker.index >= target.load(std::memory_order_relaxed);
  }
  // All of these are called with `mutex` held.
  WakeList PopIdle(int count);
  WakeList Announce(int wanted);
  Loop* PickLoop() const;
  void LowerTarget(int workers);
  void NoteIfSettled();
  bool Park(Worker* worker, WakeList* baton);

  void JoinFirst(int count);
  void Run(Worker* worker, BinaryEvent* started);
  void Serve(Worker* worker, MutexLock* lock);
  void RunClosure(MutexLock* lock);
  bool RunLoop(Worker* worker, Loop* loop, MutexLock* lock);
  bool Look(Worker* worker, uint32_t seen, MutexLock* lock);
  bool Lend(Worker* worker, MutexLock* lock);
  template <typename Predicate>
  bool HostGuest(Worker* guest, Predicate leave);
  void InviteGuests(int tasks);

  Wakeups BeginResize(int workers, const std::vector<int>& cpus);
  void Bind(int workers, const std::vector<int>& cpus);
  void ParallelFor(int tasks, FunctionRef<void(int)> body);
  void Schedule(std::function<void()> closure);
  // Work of which nobody has taken the last part yet came, or went (WorkRecord::untaken).
  void AddUntaken(int32_t change) {
    if (!options.records.empty())
      options.records[0].untaken.fetch_add(change, std::memory_order_relaxed);
  }

  const Options options;
  const std::unique_ptr<Worker[]> workers;
  std::function<void(nanoseconds, bool)> on_settled;
  std::mutex resize_mutex;  // Held through one Resize; taken before `mutex`.
  std::atomic<int64_t> bind_failures{0};

  // Watched by everyone, changed by Resize with `mutex` held.
  alignas(kCacheLine) std::atomic<int> target{0};
  std::atomic<int> active{0};  // Workers kActive or kIdle.
  std::atomic<uint32_t> settled{1};

  // Active workers that spin until `news` changes. Raised without the lock, but lowered with it:
  // who is counted here looks for work once more before it sleeps, so it needs no waking.
  alignas(kCacheLine) std::atomic<int> looking{0};
  std::atomic<uint32_t> news{0};  // Changed without the lock, after work was added.

  // Of another pool, which lends its idle workers; set by its constructor.
  std::atomic<Impl*> lender{nullptr};
  std::atomic<uint32_t> guests{0};  // SetGuests.
  // Sizes of `idle` and `closures`, for a look without the lock.
  std::atomic<int> idlers{0};
  std::atomic<int> queued{0};

  alignas(kCacheLine) mutable Mutex mutex;  // Guards all below.
  Loop* loops = nullptr;                    // Newest first.
  std::vector<Worker*> idle;  // The one that slept last is woken first: its cache is warm.
  std::deque<std::function<void()>> closures;
  int waking = 0;
  bool resizing = false;  // A Resize is still binding: not settled before it is done.
  bool grew = false;
  bool stopping = false;
  steady_clock::time_point resize_start;
};

MalleablePool::Impl::Impl(Options pool_options)
    : options(std::move(pool_options)),
      workers(std::make_unique<Worker[]>(static_cast<size_t>(std::max(options.capacity, 0)))) {
  CHECK(options.capacity >= 0) << "a pool of " << options.capacity << " threads";
  idle.reserve(static_cast<size_t>(options.capacity));
  if (options.lends_to != nullptr) options.lends_to->impl_->lender = this;
  for (int i = 0; i < options.capacity; ++i) {
    // One at a time: a thread that starts runs for a moment, and a crowd of them would disturb the
    // neighbours.
    BinaryEvent started;
    Worker* worker = &workers[static_cast<size_t>(i)];
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

MalleablePool::Impl::WakeList MalleablePool::Impl::PopIdle(int count) {
  WakeList list;
  while (list.count < std::min(count, kFanOut) && !idle.empty()) {
    idle.back()->state = State::kActive;
    list.workers[static_cast<size_t>(list.count++)] = idle.back();
    idle.pop_back();
  }
  idlers.store(static_cast<int>(idle.size()), std::memory_order_relaxed);
  return list;
}

// There is work for `wanted` workers: those that look already need no waking. Each that takes work
// hands on the news.
MalleablePool::Impl::WakeList MalleablePool::Impl::Announce(int wanted) {
  WakeList list = PopIdle(wanted - looking.load(std::memory_order_relaxed));
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

// Idle workers beyond the new target change places without waking; the others notice after their
// task.
void MalleablePool::Impl::LowerTarget(int wanted) {
  target.store(wanted, std::memory_order_relaxed);
  std::erase_if(idle, [this](Worker* worker) {
    if (!Surplus(*worker)) return false;
    worker->state = State::kParked;
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

// Parks a surplus worker. False if it must first run a closure that nobody else would: see
// WhenEmpty::kRunInCaller. Work that it was woken for goes to an idle worker.
bool MalleablePool::Impl::Park(Worker* worker, WakeList* baton) {
  if (!closures.empty() || PickLoop() != nullptr) *baton = PopIdle(1);
  if (options.when_empty == WhenEmpty::kRunInCaller && !closures.empty() &&
      active.load(std::memory_order_relaxed) == 1) {
    return false;
  }
  worker->state = State::kParked;
  active.fetch_sub(1, std::memory_order_relaxed);
  NoteIfSettled();
  return true;
}

void MalleablePool::Impl::Run(Worker* worker, BinaryEvent* started) {
  self = {.pool = this, .worker = worker};
  worker->tid = gettid();
  worker->meter.SetWork(false);
  started->Post();
  bool named = false;
  while (true) {
    worker->meter.Sleep([worker] {
      worker->event.Wait();
    });  // Parked or idle: the only place where a worker sleeps.
    MutexLock lock(mutex);
    if (stopping) return;
    if (worker->state == State::kWaking) {
      --waking;
      worker->state = Surplus(*worker) ? State::kParked : State::kActive;
      if (worker->state == State::kActive) {
        active.fetch_add(1, std::memory_order_relaxed);
        if (!named) NameThisThread(options.name, worker->index);
        named = true;
      }
      NoteIfSettled();
    }
    if (worker->state == State::kActive) Serve(worker, &lock);
  }
}

// An active worker's life until it is parked or idle.
void MalleablePool::Impl::Serve(Worker* worker, MutexLock* lock) {
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
      looked = !Look(worker, seen, lock);
      lent_in_vain = false;
    } else {
      worker->state = State::kIdle;
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
  const bool own = self.pool == this;  // Or a caller of RunOne, which has work of its own.
  if (own) self.worker->meter.SetWork(true);
  closure();
  if (own) self.worker->activity.store(nullptr, std::memory_order_relaxed);
  closure = nullptr;  // What it holds is freed before anyone can see this worker parked.
  if (own) self.worker->meter.SetWork(false);
  lock->Lock();
}

// True if it has then looked for other work in vain. After the only loop it looks before it takes
// the lock again: the loop's caller needs the lock just now, to end this loop and to begin the
// next.
bool MalleablePool::Impl::RunLoop(Worker* worker, Loop* loop, MutexLock* lock) {
  const bool only = closures.empty() && loops == loop && loop->next == nullptr;
  const uint32_t seen = news.load(std::memory_order_relaxed);
  loop->Attach();
  WakeList more = idle.empty() ? WakeList() : PopIdle(loop->TakeWakeUps(kFanOut));
  lock->Unlock();
  more.Post();
  worker->meter.SetWork(true);
  loop->Work([this, worker] { return Surplus(*worker); });
  loop->Detach();
  worker->meter.SetWork(false);
  if (only) return !Look(worker, seen, lock);
  lock->Lock();
  return false;
}

// Spins for work that came after `seen`; returns with the lock held, false if there was no news.
bool MalleablePool::Impl::Look(Worker* worker, uint32_t seen, MutexLock* lock) {
  looking.fetch_add(1, std::memory_order_relaxed);
  const bool found = SpinUntil(options.spin, &worker->meter, [&] {
    return news.load(std::memory_order_relaxed) != seen || Surplus(*worker);
  });
  lock->Lock();
  looking.fetch_sub(1, std::memory_order_relaxed);
  return found;
}

// Takes part in a loop of the other pool until that has no more tasks, or there is a closure here;
// false if it found none.
bool MalleablePool::Impl::Lend(Worker* worker, MutexLock* lock) {
  Impl& other = *options.lends_to->impl_;
  if (other.guests.load(std::memory_order_relaxed) == 0) return false;
  lock->Unlock();
  const bool lent = other.HostGuest(
      worker, [&] { return Surplus(*worker) || queued.load(std::memory_order_relaxed) > 0; });
  lock->Lock();
  return lent;
}

template <typename Predicate>
bool MalleablePool::Impl::HostGuest(Worker* guest, Predicate leave) {
  Loop* loop = nullptr;
  {
    const MutexLock lock(mutex);
    loop = PickLoop();
    if (loop == nullptr || loop->Attached() >= guests.load(std::memory_order_relaxed)) return false;
    loop->Attach();
  }
  InviteGuests(loop->Remaining() - 1);
  guest->meter.SetWork(true);
  loop->Work(leave);
  loop->Detach();
  guest->meter.SetWork(false);
  return true;
}

// Workers that may be lent, and look for work or sleep, hear of a loop with room for them. One that
// is just going to sleep may miss it.
void MalleablePool::Impl::InviteGuests(int tasks) {
  Impl* from = lender.load(std::memory_order_relaxed);
  const auto most = static_cast<int>(guests.load(std::memory_order_relaxed));
  if (from == nullptr || most == 0) return;
  const int looking_there = from->looking.load(std::memory_order_relaxed);
  if (looking_there > 0) from->news.fetch_add(1, std::memory_order_relaxed);
  const int wanted = std::min(tasks, most) - looking_there;
  if (wanted <= 0 || from->idlers.load(std::memory_order_relaxed) == 0) return;
  WakeList woken;
  {
    const MutexLock lock(from->mutex);
    woken = from->PopIdle(wanted);
  }
  woken.Post();
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
      Worker& worker = workers[static_cast<size_t>(i)];
      if (worker.state != State::kParked) continue;
      worker.state = State::kWaking;
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
    // Always, even to the same core: the kernel forgets a thread's pin when the cpuset changes.
    if (!options.topology->BindThread(workers[static_cast<size_t>(i)].tid, {cpu})) {
      bind_failures.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

void MalleablePool::Impl::ParallelFor(int tasks, FunctionRef<void(int)> body) {
  if (tasks <= 1 || options.capacity == 0) {
    ++task_depth;
    for (int i = 0; i < tasks; ++i) body(i);
    --task_depth;
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
  {
    const MutexLock lock(mutex);
    (loop.previous == nullptr ? loops : loop.previous->next) = loop.next;
    if (loop.next != nullptr) loop.next->previous = loop.previous;
  }
  loop.WaitForWorkers(options.spin, self.worker == nullptr ? nullptr : &self.worker->meter);
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

bool MalleablePool::InTask() { return task_depth > 0; }

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
  return self.pool == impl_.get() && impl_->Surplus(*self.worker) && !self.worker->draining;
}

int MalleablePool::CurrentWorker() const {
  return self.pool == impl_.get() ? self.worker->index : -1;
}

void MalleablePool::SetActivity(const std::string* what) {
  if (self.pool == impl_.get()) self.worker->activity.store(what, std::memory_order_release);
}

const std::string* MalleablePool::Activity() const {
  for (int i = impl_->options.capacity - 1; i >= 0; --i) {
    const Worker& worker = impl_->workers[static_cast<size_t>(i)];
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

int64_t MalleablePool::BindFailures() const {
  return impl_->bind_failures.load(std::memory_order_relaxed);
}

}  // namespace cosched
