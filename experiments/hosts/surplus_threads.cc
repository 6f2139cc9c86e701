#include "experiments/hosts/surplus_threads.h"

#include <utility>

namespace cosched {
namespace {

constexpr int kExcessLooks = 2;
constexpr Duration kGoingToSleep = std::chrono::milliseconds(1);  // Takes less.

}  // namespace

void SurplusThreads::Forget() {
  runnable_.clear();
  excess_looks_ = 0;
}

int SurplusThreads::Look(const std::vector<ProcessSampler::Thread>& threads, int cores) {
  const Crowd crowd = Count(threads);
  excess_looks_ = crowd.computing > cores ? excess_looks_ + 1 : 0;
  return excess_looks_ >= kExcessLooks ? crowd.lasting : 0;
}

SurplusThreads::Crowd SurplusThreads::Count(const std::vector<ProcessSampler::Thread>& threads) {
  Crowd crowd;
  std::map<pid_t, Runnable> runnable;
  for (const ProcessSampler::Thread& thread : threads) {
    // A thread of the idle class takes a core from nobody, and may be on its way to sleep for ever.
    if (!thread.compute || thread.state != 'R' || thread.idle_class) continue;
    const auto known = runnable_.find(thread.tid);
    Runnable now = known == runnable_.end() ? Runnable() : known->second;
    // The kernel adds up the time of a thread that runs at its ticks: at the first look some of
    // what it did before may be missing.
    if (++now.looks <= 2) now.since = thread.run_time;
    crowd.lasting += now.looks > 2 ? 1 : 0;
    crowd.computing += thread.run_time - now.since > kGoingToSleep ? 1 : 0;
    runnable.emplace(thread.tid, now);
  }
  runnable_ = std::move(runnable);
  return crowd;
}

}  // namespace cosched
