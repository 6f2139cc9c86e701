#include "experiments/hosts/memory_mover.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/base/thread_start.h"
#include "experiments/os/cgroup_hierarchy.h"
#include "experiments/os/process_memory.h"

namespace cosched {
namespace {

std::string Reason(int error) { return std::generic_category().message(error); }

// Of all processes that can be looked at.
MemoryByNode MemoryOfAll(const std::vector<pid_t>& processes) {
  MemoryByNode all;
  for (const pid_t process : processes) {
    const auto memory = MemoryOf(process);
    if (!memory) continue;
    for (const auto& [node, bytes] : *memory) all[node] += bytes;
  }
  return all;
}

}  // namespace

MemoryMover::MemoryMover(const Topology& topology, NumaMap map, MemoryMode mode, const Clock* clock)
    : topology_(topology),
      map_(std::move(map)),
      mode_(mode),
      clock_(clock),
      watches_(map_.ThisSystem() && map_.Count() > 1) {}

MemoryMover::~MemoryMover() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  news_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MemoryMover::Grant(JobId job, const CpuSet& cores) {
  if (!watches_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  Tenant& tenant = tenants_[job];
  tenant.memory = tenant.memory | map_.NodesOf(cores);
  if (tenant.granted.Empty()) tenant.granted = tenant.memory;
}

void MemoryMover::Settle(JobId job, const CpuSet& cores, std::vector<pid_t> processes, int mems) {
  if (!watches_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tenants_.find(job);
  if (found == tenants_.end()) return;
  Tenant& tenant = found->second;
  const NumaNodes to = map_.NodesOf(cores);
  const NumaNodes before = std::exchange(tenant.granted, to);
  if (mode_ == MemoryMode::kStay) {
    if (!(before - to).Empty())
      moves_.push_back({job, clock_->Now(), before - to, to, kMemoryStayed});
    return;
  }
  const NumaNodes from = tenant.memory - to;
  const bool binds = mode_ == MemoryMode::kBind && mems >= 0;
  if (from.Empty() && !binds) {
    orders_.erase(job);  // It is back where its memory is.
    return;
  }
  UniqueFd own_mems(binds ? fcntl(mems, F_DUPFD_CLOEXEC, 3) : -1);
  orders_[job] = {job, cores, std::move(processes), std::move(own_mems), from, to};
  try {
    if (!thread_.joinable()) thread_ = StartThread("what moves memory", [this] { Run(); });
  } catch (const std::system_error& error) {
    Tell(error.what());
    orders_.clear();
  }
  news_.notify_all();
}

void MemoryMover::Tell(const std::string& problem) {
  if (std::ranges::find(told_, problem) != told_.end()) return;
  told_.push_back(problem);
  marks_.push_back(problem);
}

void MemoryMover::Forget(JobId job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tenants_.erase(job);
  orders_.erase(job);
}

std::vector<MemoryMove> MemoryMover::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(moves_, {});
}

std::vector<std::string> MemoryMover::TakeMarks() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(marks_, {});
}

void MemoryMover::Run() {
  // A harness that is SCHED_FIFO must not make this so: it runs beside the tenant's threads.
  const sched_param ordinary{.sched_priority = 0};
  sched_setscheduler(0, SCHED_OTHER, &ordinary);
  LeaveOthersMemory();
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    news_.wait(lock, [this] { return stopping_ || !orders_.empty(); });
    if (stopping_) return;
    const Order order = std::move(orders_.begin()->second);
    orders_.erase(orders_.begin());
    lock.unlock();
    Do(order);
    lock.lock();
  }
}

void MemoryMover::Do(const Order& order) {
  topology_.BindThread(0, order.cores);  // Where that is refused, it runs where the host may.
  MemoryMove move{
      .job = order.job, .time = {}, .from = order.from, .to = order.to, .outcome = kMemoryMoved};
  const TimePoint begun = clock_->Now();
  const std::string why_not = Move(order, &move);
  move.time = clock_->Now();
  move.taken = move.time - begun;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto tenant = tenants_.find(order.job);
  if (tenant == tenants_.end()) return;  // It has ended meanwhile.
  if (!why_not.empty()) {
    move.outcome = kMemoryRefused;
    Tell(why_not);
  } else if (!orders_.contains(order.job)) {
    tenant->second.memory = order.to | tenant->second.granted;
  }
  if (!order.from.Empty()) moves_.push_back(std::move(move));
}

// The kernel moves nothing to where the cpuset has no memory, so that is widened first.
std::string MemoryMover::Move(const Order& order, MemoryMove* move) const {
  if (order.from.Empty()) return Bind(order, order.to);
  if (std::string why_not = Bind(order, order.from | order.to); !why_not.empty()) return why_not;
  const int64_t before = BytesOn(MemoryOfAll(order.processes), order.from);
  int error = 0;
  for (const pid_t process : order.processes) {
    const int failed = MovePages(process, order.from, order.to);
    if (failed != 0 && failed != ESRCH) error = failed;  // One that is gone has none.
  }
  move->left = BytesOn(MemoryOfAll(order.processes), order.from);
  move->bytes = std::max<int64_t>(before - move->left, 0);
  if (error != 0) {
    return fmt::format("memory did not follow to other NUMA nodes: the kernel refuses it ({})",
                       Reason(error));
  }
  return Bind(order, order.to);
}

std::string MemoryMover::Bind(const Order& order, const NumaNodes& nodes) {
  if (!order.mems) return "";
  const int error = WriteToCgroup(order.mems.get(), nodes.ToString());
  if (error == 0 || error == ENODEV) return "";  // No such group any more: nor is the tenant.
  return fmt::format("memory was not bound to NUMA nodes {}: the kernel refuses it ({})",
                     nodes.ToString(), Reason(error));
}

}  // namespace cosched
