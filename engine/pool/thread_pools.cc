#include "engine/pool/thread_pools.h"

#include <algorithm>
#include <atomic>
#include <mutex>
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

}  // namespace

struct ThreadPools::Impl {
  Impl(Split most, Binding how, const Topology* topology)
      : capacity(most),
        binding(how),
        inter({.name = "inter",
               .capacity = most.inter,
               .when_empty = MalleablePool::WhenEmpty::kQueue,
               .topology = how == Binding::kNone ? nullptr : topology}),
        intra({.name = "intra",
               .capacity = most.intra - 1,
               .when_empty = MalleablePool::WhenEmpty::kRunInCaller,
               .topology = how == Binding::kNone ? nullptr : topology}),
        onednn(&intra, most.intra),
        eigen_pool(&intra, most.intra),
        eigen(&eigen_pool, most.intra) {
    inter.OnSettled([this](nanoseconds, bool) { NoteIfSettled(); });
    intra.OnSettled([this](nanoseconds, bool) { NoteIfSettled(); });
  }

  Split Clamp(int cores, Split split) const;
  void Resize(const CpuSet& cores, Split split);
  void NoteIfSettled();

  const Split capacity;
  const Binding binding;

  std::mutex
      resize_mutex;  // Held through one Resize, taken before all others; guards the two vectors.
  std::vector<int> inter_cpus, helper_cpus;

  mutable std::mutex
      mutex;  // Innermost: the pools report to NoteIfSettled with their own lock held.
  CpuSet cores;
  Split current{0, 0};
  bool resizing = false;
  int change = 0;  // Threads more (or fewer) than before the running Resize.
  steady_clock::time_point start;
  ResizeTimes times;
  std::atomic<uint32_t> settled{1};  // Written with `mutex` held.

  MalleablePool inter, intra;  // After what their callbacks use.
  OnednnThreadPool onednn;
  EigenThreadPool eigen_pool;
  Eigen::ThreadPoolDevice eigen;
};

// A split's intra counts the thread that calls the loop, so {1, 1} is one thread.
Split ThreadPools::Impl::Clamp(int core_count, Split split) const {
  if (core_count == 0) return {0, 0};
  const int inter_threads = std::clamp(split.inter, 1, capacity.inter);
  const int intra_threads = std::clamp(split.intra, 1, capacity.intra);
  if (binding == Binding::kNone) return {inter_threads, intra_threads};
  const int callers = std::min(inter_threads, core_count);
  return {callers, 1 + std::min(intra_threads - 1, core_count - callers)};
}

void ThreadPools::Impl::Resize(const CpuSet& wanted_cores, Split split) {
  const auto now = steady_clock::now();
  const std::lock_guard<std::mutex> resize_lock(resize_mutex);
  const Split wanted = Clamp(wanted_cores.Count(), split);
  const int helpers = std::max(0, wanted.intra - 1);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    change = wanted.inter + helpers - current.inter - std::max(0, current.intra - 1);
    cores = wanted_cores;
    current = wanted;
    start = now;
    resizing = true;
    settled.store(0, std::memory_order_relaxed);
  }
  if (binding == Binding::kEachToItsCore) {
    CpuSet free = wanted_cores;
    inter_cpus = KeepCores(inter_cpus, wanted.inter, &free);
    helper_cpus = KeepCores(helper_cpus, helpers, &free);
    FillCores(&inter_cpus, &free);
    FillCores(&helper_cpus, &free);
  }
  inter.Resize(wanted.inter, inter_cpus);
  intra.Resize(helpers, helper_cpus);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    resizing = false;
  }
  NoteIfSettled();
}

// By a pool each time it has settled, and at the end of Resize: until then the pools may still
// speak of the Resize before.
void ThreadPools::Impl::NoteIfSettled() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (resizing || settled.load(std::memory_order_relaxed) != 0) return;
  if (!inter.Settled() || !intra.Settled()) return;
  const nanoseconds taken = steady_clock::now() - start;
  if (change > 0) {
    ++times.grows;
    times.last_grow = taken;
    times.longest_grow = std::max(times.longest_grow, taken);
    times.grow.Add(taken);
  } else if (change < 0) {
    ++times.shrinks;
    times.last_shrink = taken;
    times.longest_shrink = std::max(times.longest_shrink, taken);
    times.shrink.Add(taken);
  }
  settled.store(1, std::memory_order_release);
  FutexWakeAll(&settled);
}

ThreadPools::ThreadPools(Split capacity, Binding binding, const Topology* topology) {
  CHECK(capacity.inter >= 1 && capacity.intra >= 1)
      << "a session needs at least one thread, not {" << capacity.inter << ", " << capacity.intra
      << "}";
  CHECK(binding == Binding::kNone || topology != nullptr) << "binding threads needs a topology";
  impl_ = std::make_unique<Impl>(capacity, binding, topology);
}

ThreadPools::~ThreadPools() {
  impl_->Resize(
      {}, {});  // Settled before either pool goes, because each one's report looks at the other.
  WaitSettled(nanoseconds::max());
}

void ThreadPools::Resize(const CpuSet& cores, Split split) { impl_->Resize(cores, split); }

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

ThreadPools::ResizeTimes ThreadPools::Times() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->times;
}

CpuSet ThreadPools::Cores() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->cores;
}

Split ThreadPools::Current() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->current;
}

Split ThreadPools::Capacity() const { return impl_->capacity; }

int ThreadPools::ActiveThreads() const { return impl_->inter.Active() + impl_->intra.Active(); }

MalleablePool& ThreadPools::inter() { return impl_->inter; }
MalleablePool& ThreadPools::intra() { return impl_->intra; }
dnnl::threadpool_interop::threadpool_iface& ThreadPools::onednn() { return impl_->onednn; }
const Eigen::ThreadPoolDevice& ThreadPools::eigen() { return impl_->eigen; }

}  // namespace cosched
