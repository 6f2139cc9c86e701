#include "experiments/hosts/working_threads.h"

#include <algorithm>

namespace cosched {
namespace {

// Saturates: what is written there may be anything.
Duration SumOf(std::span<const WorkRecord> records, Duration most) {
  Duration sum{0};
  for (const WorkRecord& record : records) {
    const Duration spun(record.spin_time.load(std::memory_order_relaxed));
    sum += std::clamp(spun, Duration(0), most - sum);
  }
  return sum;
}

}  // namespace

const WorkRecord* WorkingThreads::RecordOf(const PoolThread& worker) const {
  const auto& records = worker.pool == PoolThread::Pool::kInter ? inter_ : intra_;
  const auto index = static_cast<size_t>(worker.index) + 1;  // Behind the pool's own.
  return index < records.size() ? &records[index] : nullptr;
}

std::optional<uint32_t> WorkingThreads::TaskOf(const ProcessSampler::Thread& thread) const {
  const WorkRecord* record = thread.worker ? RecordOf(*thread.worker) : nullptr;
  if (record == nullptr || record->without_work.load(std::memory_order_relaxed) != 0)
    return std::nullopt;
  const uint32_t task = record->tasks.load(std::memory_order_relaxed);
  return task > 0 ? std::optional(task) : std::nullopt;
}

int WorkingThreads::Runnable(const std::vector<ProcessSampler::Thread>& threads) const {
  int runnable = 0;
  for (const ProcessSampler::Thread& thread : threads) {
    if (!thread.compute || thread.state != 'R') continue;
    if (!thread.worker) {  // It tells nothing.
      ++runnable;
      continue;
    }
    const WorkRecord* record = RecordOf(*thread.worker);
    const auto& records = thread.worker->pool == PoolThread::Pool::kInter ? inter_ : intra_;
    const bool works = record == nullptr ||
                       record->without_work.load(std::memory_order_relaxed) == 0 ||
                       records[0].untaken.load(std::memory_order_relaxed) > 0;
    runnable += works ? 1 : 0;
  }
  return runnable;
}

Duration WorkingThreads::SpinTime(const std::vector<ProcessSampler::Thread>& threads,
                                  Duration run_time) {
  for (const ProcessSampler::Thread& thread : threads) {
    if (!thread.worker || RecordOf(*thread.worker) == nullptr) continue;
    size_t& seen = thread.worker->pool == PoolThread::Pool::kInter ? inter_seen_ : intra_seen_;
    seen = std::max(seen, static_cast<size_t>(thread.worker->index) + 2);
  }
  const Duration inter = SumOf(inter_.first(inter_seen_), run_time);
  const Duration sum = inter + SumOf(intra_.first(intra_seen_), run_time - inter);
  spin_time_ = std::max(spin_time_, sum);
  return spin_time_;
}

}  // namespace cosched
