#include "engine/pool/thread_pools.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include "engine/base/check.h"
#include "engine/pool/eigen_adapter.h"
#include "engine/pool/futex.h"
#include "engine/pool/onednn_adapter.h"

namespace cosched {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// Gives each of `count` threads a core of `cores`: who holds one keeps it (`held`, by thread; -1 =
// none), the others take from `free` in ascending order once all keepers are known.
std::vector<int> KeepCores(const std::vector<int>& held, int count, CpuSet* free) {
  std::vector<int> cpus(static_cast<size_t>(count), -1);
  for (size_t i = 0; i < std::min(cpus.size(), held.size()); ++i) {
    if (!free->Contains(held[i])) continue;
    cpus[i] = held[i];
    free->Remove(held[i]);
  }
  return cpus;
}

void FillCores(std::vector<int>* cpus, CpuSet* free) {
  for (int& cpu : *cpus) {
    if (cpu >= 0) continue;
    cpu = free->First();
    free->Remove(cpu);
  }
}

// Grows, without keeping what is in it.
class ScratchBuffer {
 public:
  std::byte* AtLeast(size_t bytes) {
    const size_t lines = (bytes + sizeof(Line) - 1) / sizeof(Line);
    if (lines > size_) {
      lines_.reset();  // Not both at a time.
      lines_.reset(new Line[lines]);
      size_ = lines;
    }
    return lines_[0].bytes;
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::unique_ptr<Line[]> lines_;
  size_t size_ = 0;
};

}  // namespace

struct ThreadPools::Impl {
  Impl(Split most, Binding how, const Topology* topology, const Waiting& waiting)
      : capacity(most),
        binding(how),
        scratch(static_cast<size_t>(most.inter + most.intra)),
        intra({.name = "intra",
               .capacity = most.intra - 1,
               .when_empty = MalleablePool::WhenEmpty::kRunInCaller,
               .topology = how == Binding::kNone ? nullptr : topology,
               .spin = waiting.spin,
               .records = waiting.intra}),
        inter({.name = "inter",
               .capacity = most.inter,
               .when_empty = MalleablePool::WhenEmpty::kQueue,
               .topology = how == Binding::kNone ? nullptr : topology,
               .lends_to = how == Binding::kNone ? nullptr : &intra,
               .spin = waiting.spin,
               .records = waiting.inter}),
        eigen_pool(&intra, most.intra),
        eigen(&eigen_pool, most.intra) {
    for (int tasks = 1; tasks <= most.intra; ++tasks) onednn.emplace_back(&intra, tasks);
    inter.OnSettled([this](nanoseconds, bool) { NoteIfSettled(); });
    intra.OnSettled([this](nanoseconds, bool) { NoteIfSettled(); });
  }

  Split Clamp(const WantedThreads& threads) const;
  int64_t Resize(const ResizeRequest& request);
  int64_t Begin(const WantedThreads& threads, Split split, std::string_view cause,
                steady_clock::time_point now);
  void NoteIfSettled();

  const Split capacity;
  const Binding binding;
  // By worker, inter-op ones first; the last is for all others.
  std::vector<ScratchBuffer> scratch;

  // Held through one Resize, taken before all others; guards the two vectors and the offers.
  std::mutex resize_mutex;
  std::vector<int> inter_cpus, helper_cpus;
  // Replaced whole, so that a Resize calls those of its time without the lock.
  std::shared_ptr<const std::vector<std::function<void()>>> offers =
      std::make_shared<std::vector<std::function<void()>>>();

  // Innermost: the pools report to NoteIfSettled with their own lock held. Guards all below.
  mutable std::mutex mutex;
  WantedThreads wanted;
  bool resizing = false;
  ResizeReport running;  // The report of the latest Resize.
  ResizeTimes times;
  std::set<std::string> ops;  // That ran at a Resize: reports name them.
  std::function<void(const ResizeReport&)> report;
  std::atomic<uint32_t> settled{1};  // Written with `mutex` held.

  MalleablePool intra, inter;  // After what their callbacks use; who lends workers goes first.
  std::deque<OnednnThreadPool> onednn;  // By tasks, from 1 on.
  EigenThreadPool eigen_pool;
  Eigen::ThreadPoolDevice eigen;
};

// A split's intra counts the thread that calls the loop, so {1, 1} is one thread.
Split ThreadPools::Impl::Clamp(const WantedThreads& threads) const {
  const int cores = threads.cores.Count();
  const Split split = {std::min(threads.split.inter, capacity.inter),
                       std::min(threads.split.intra, capacity.intra)};
  if (threads.paused || cores == 0 || split.inter <= 0 || split.intra <= 0) return {0, 0};
  if (binding == Binding::kNone) return split;
  const int callers = std::min(split.inter, cores);
  return {callers, 1 + std::min(split.intra - 1, cores - callers)};
}

int64_t ThreadPools::Impl::Resize(const ResizeRequest& request) {
  const auto now = steady_clock::now();
  int64_t sequence = 0;
  MalleablePool::Wakeups wakeups;
  std::shared_ptr<const std::vector<std::function<void()>>> offered;
  {
    const std::lock_guard<std::mutex> resize_lock(resize_mutex);
    offered = offers;
    WantedThreads threads;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      threads = wanted;
    }
    if (request.cores) threads.cores = *request.cores;
    if (request.inter) threads.split.inter = *request.inter;
    if (request.intra) threads.split.intra = *request.intra;
    if (request.paused) threads.paused = *request.paused;
    const Split split = Clamp(threads);
    const int helpers = std::max(0, split.intra - 1);
    std::vector<int> callers_there, helpers_there;
    if (binding == Binding::kEachToItsCore) {
      CpuSet free = threads.cores;
      callers_there = KeepCores(inter_cpus, split.inter, &free);
      helpers_there = KeepCores(helper_cpus, helpers, &free);
      FillCores(&callers_there, &free);
      FillCores(&helpers_there, &free);
    }
    inter.Prepare(split.inter, callers_there);
    intra.Prepare(helpers, helpers_there);
    sequence = Begin(threads, split, request.cause, now);
    inter_cpus = std::move(callers_there);
    helper_cpus = std::move(helpers_there);
    const int most_at_one_node = std::min(threads.split.intra, capacity.intra);
    intra.SetGuests(split.inter > 1 ? most_at_one_node - 1 : 0);
    wakeups = inter.BeginResize(split.inter, inter_cpus);
    wakeups.Add(intra.BeginResize(helpers, helper_cpus));
    {
      const std::lock_guard<std::mutex> lock(mutex);
      resizing = false;
    }
    NoteIfSettled();
  }
  // Whoever is woken now may take this thread's core: nothing but the waking is left to do.
  for (const std::function<void()>& offer : *offered) offer();
  wakeups.Post();
  return sequence;
}

// The latest Resize is this one from now on; one that has not settled is overtaken.
int64_t ThreadPools::Impl::Begin(const WantedThreads& threads, Split split, std::string_view cause,
                                 steady_clock::time_point now) {
  const std::string* op = inter.Activity();
  const std::lock_guard<std::mutex> lock(mutex);
  const bool overtakes = settled.load(std::memory_order_relaxed) == 0;
  if (overtakes) {
    running.overtaken = true;
    running.taken = steady_clock::now() - running.start;  // `now` is from before it had its turn.
    if (report) report(running);
  }
  const Split before = overtakes ? running.before : running.after;
  running = {.sequence = running.sequence + 1,
             .start = now,
             .before = before,
             .after = split,
             .change = ThreadsOf(split) - ThreadsOf(before),
             .cores = threads.cores,
             .op = *ops.insert(op == nullptr ? "" : *op).first,
             .cause = cause};
  wanted = threads;
  resizing = true;
  settled.store(0, std::memory_order_relaxed);
  return running.sequence;
}

// By a pool each time it has settled, and at the end of Resize: until then the pools may still
// speak of the Resize before.
void ThreadPools::Impl::NoteIfSettled() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (resizing || settled.load(std::memory_order_relaxed) != 0) return;
  if (!inter.Settled() || !intra.Settled()) return;
  running.taken = steady_clock::now() - running.start;
  if (running.change > 0) {
    ++times.grows;
    times.last_grow = running.taken;
    times.grow.Add(running.taken);
  } else if (running.change < 0) {
    ++times.shrinks;
    times.last_shrink = running.taken;
    times.shrink.Add(running.taken);
  }
  if (report) report(running);
  settled.store(1, std::memory_order_release);
  FutexWakeAll(&settled);
}

ThreadPools::ThreadPools(Split capacity, Binding binding, const Topology* topology,
                         const Waiting& waiting) {
  CHECK(capacity.inter >= 1 && capacity.intra >= 1)
      << "a session needs at least one thread, not {" << capacity.inter << ", " << capacity.intra
      << "}";
  CHECK(binding == Binding::kNone || topology != nullptr) << "binding threads needs a topology";
  impl_ = std::make_unique<Impl>(capacity, binding, topology, waiting);
}

ThreadPools::~ThreadPools() {
  OnResized(nullptr);  // The end is nobody's Resize.
  // Settled before either pool goes, because each one's report looks at the other.
  impl_->Resize({.paused = true});
  WaitSettled(nanoseconds::max());
}

int64_t ThreadPools::Resize(const ResizeRequest& request) { return impl_->Resize(request); }

int64_t ThreadPools::Resize(const CpuSet& cores, Split split, std::string_view cause) {
  return impl_->Resize(
      {.cores = cores, .inter = split.inter, .intra = split.intra, .cause = cause});
}

WantedThreads ThreadPools::Wanted() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->wanted;
}

bool ThreadPools::Settled() const { return impl_->settled.load(std::memory_order_acquire) != 0; }

bool ThreadPools::WaitSettled(nanoseconds timeout) const {
  const auto end = steady_clock::now() + std::min<nanoseconds>(timeout, std::chrono::years(1));
  while (!Settled()) {
    const nanoseconds left = end - steady_clock::now();
    if (left.count() <= 0) return false;
    FutexWait(&impl_->settled, 0, left);
  }
  return true;
}

void ThreadPools::OnResized(std::function<void(const ResizeReport&)> report) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->report = std::move(report);
}

void ThreadPools::OnWorkersAdded(std::function<void()> offer) {
  const std::lock_guard<std::mutex> lock(impl_->resize_mutex);
  auto offers = std::make_shared<std::vector<std::function<void()>>>(*impl_->offers);
  offers->push_back(std::move(offer));
  impl_->offers = std::move(offers);
}

ThreadPools::ResizeTimes ThreadPools::Times() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->times;
}

void ThreadPools::SetRunningOp(const std::string* op) { impl_->inter.SetActivity(op); }

std::byte* ThreadPools::Scratch(size_t bytes) {
  int index = impl_->inter.CurrentWorker();
  if (index == -1) {
    const int helper = impl_->intra.CurrentWorker();
    index = helper == -1 ? impl_->capacity.intra - 1 : helper;
    index += impl_->capacity.inter;
  }
  return impl_->scratch[static_cast<size_t>(index)].AtLeast(bytes);
}

CpuSet ThreadPools::Cores() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->wanted.cores;
}

Split ThreadPools::Current() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->running.after;
}

int ThreadPools::ThreadsAtANode() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  const Split now = impl_->running.after;
  if (impl_->binding == Binding::kNone || now.inter <= 1) return now.intra;
  return std::min({impl_->wanted.split.intra, impl_->capacity.intra, ThreadsOf(now)});
}

int ThreadPools::FreeThreadsAtANode() const {
  const int free = std::max(1, Current().intra) + impl_->inter.Idle();
  return std::min(free, std::max(1, ThreadsAtANode()));
}

Split ThreadPools::Capacity() const { return impl_->capacity; }

int ThreadPools::ActiveThreads() const { return impl_->inter.Active() + impl_->intra.Active(); }

MalleablePool& ThreadPools::inter() { return impl_->inter; }
MalleablePool& ThreadPools::intra() { return impl_->intra; }
dnnl::threadpool_interop::threadpool_iface& ThreadPools::onednn(int tasks) {
  CHECK(tasks >= 1 && tasks <= impl_->capacity.intra) << tasks << " tasks";
  return impl_->onednn[static_cast<size_t>(tasks) - 1];
}
const Eigen::ThreadPoolDevice& ThreadPools::eigen() { return impl_->eigen; }

}  // namespace cosched
