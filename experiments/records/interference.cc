#include "experiments/records/interference.h"

#include <algorithm>

namespace cosched {

void Interference::AddPeriod(const std::vector<Thread>& threads, const TimeByCore& others) {
  for (const Thread& victim : threads) {
    if (victim.wait <= Duration::zero()) continue;
    std::map<std::optional<JobId>, double> ran;
    double all = 0;
    const auto count = [&ran, &all](std::optional<JobId> culprit, Duration time) {
      ran[culprit] += ToSeconds(time);
      all += ToSeconds(time);
    };
    for (const Thread& thread : threads) {
      if (&thread == &victim || thread.cpu < 0 || thread.run_time <= Duration::zero()) continue;
      if (victim.cores.Contains(thread.cpu)) count(thread.job, thread.run_time);
    }
    for (const auto& [cpu, time] : others) {
      if (victim.cores.Contains(cpu) && time > Duration::zero()) count(std::nullopt, time);
    }
    const double wait = ToSeconds(victim.wait);
    if (all <= 0) matrix_[{victim.job, std::nullopt}] += wait;
    for (const auto& [culprit, time] : ran) matrix_[{victim.job, culprit}] += wait * time / all;
  }
}

void InterferenceMeter::Add(const std::vector<TenantSample>& samples, const TimeByCore& busy) {
  std::vector<Interference::Thread> threads;
  for (const TenantSample& sample : samples) {
    Seen& seen = seen_[sample.job];
    // The tenant's own figure is what must be shared out: it also has the wait of threads that have
    // ended since.
    Duration unexplained = std::max(sample.run_queue_wait - seen.wait, Duration::zero());
    std::map<int, ThreadSample> now;
    for (const ThreadSample& thread : sample.threads) {
      const auto found = seen.threads.find(thread.tid);
      const ThreadSample before = found == seen.threads.end() ? ThreadSample() : found->second;
      const Duration waited = thread.compute ? thread.run_queue_wait - before.run_queue_wait
                                             : Duration::zero();  // The others' is in no sample.
      const Duration wait = std::clamp(waited, Duration::zero(), unexplained);
      unexplained -= wait;
      threads.push_back({sample.job, thread.cpu, thread.cores,
                         std::max(thread.run_time - before.run_time, Duration::zero()), wait});
      now.emplace(thread.tid, thread);
    }
    threads.push_back({sample.job, -1, sample.granted, Duration::zero(), unexplained});
    seen = {.wait = std::max(seen.wait, sample.run_queue_wait), .threads = std::move(now)};
  }
  interference_.AddPeriod(threads, Others(threads, busy));
}

TimeByCore InterferenceMeter::Others(const std::vector<Interference::Thread>& threads,
                                     const TimeByCore& busy) {
  TimeByCore excess;
  Duration sum = -owed_;
  for (const auto& [cpu, time] : busy) {
    excess[cpu] = time - busy_[cpu];
    sum += excess[cpu];
  }
  for (const Interference::Thread& thread : threads) {
    if (thread.cpu < 0) continue;
    excess[thread.cpu] -= thread.run_time;
    sum -= thread.run_time;
  }
  busy_ = busy;
  owed_ = std::max(-sum, Duration::zero());
  double positive = 0;
  for (auto& [cpu, time] : excess) {
    time = std::max(time, Duration::zero());
    positive += ToSeconds(time);
  }
  if (positive <= 0 || sum <= Duration::zero()) return {};
  for (auto& [cpu, time] : excess) time = FromSeconds(ToSeconds(time) / positive * ToSeconds(sum));
  return excess;
}

}  // namespace cosched
