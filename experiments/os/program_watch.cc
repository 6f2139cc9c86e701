#include "experiments/os/program_watch.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "experiments/os/proc_file.h"

namespace cosched {
namespace {

// What a process has mapped is long: read at every so manieth look.
constexpr int kAskEvery = 5;

ProcFile FileOf(pid_t process, const char* name) {
  return ProcFile::Read("/proc/" + std::to_string(process) + "/" + name);
}

}  // namespace

// The kernel tells of a wait when it is over: of one that began before the first look, only what
// fits into the time since then counts.
ProgramWatch::Times ProgramWatch::Advance(Process* process, Clock::time_point now,
                                          Duration interval, int* wanting) {
  Times grown;
  for (const ProcessSampler::Thread& thread : process->sampler.Threads()) {
    Thread& known =
        process->threads.try_emplace(thread.tid, Thread{{}, now - interval}).first->second;
    const Times before = std::exchange(known.seen, Times{thread.run_time, thread.run_queue_wait});
    const Duration ran = std::max(Duration(0), known.seen.run - before.run);
    const Duration room = now - known.since - known.counted - ran;
    const Duration waited =
        std::clamp(known.seen.wait - before.wait, Duration(0), std::max(Duration(0), room));
    if (interval == Duration(0)) continue;
    known.counted += ran + waited;
    grown.run += ran;
    grown.wait += waited;
    if (2 * (ran + waited) >= interval) ++*wanting;
  }
  process->used += grown.run;
  return grown;
}

void ProgramWatch::Ask(pid_t pid, const Process& process) {
  const ProcFile maps = FileOf(pid, "maps");
  facts_.hidden |= maps.error == EACCES || maps.error == EPERM;
  for (const ThreadRuntime* runtime : RuntimesOf(maps.text)) {
    auto& known = facts_.runtimes;
    if (std::find(known.begin(), known.end(), runtime) == known.end()) known.push_back(runtime);
  }
  if (process.used < busiest_) return;
  const std::vector<pid_t> threads = ThreadsOf(pid);
  CpuSet allowed;
  for (const pid_t thread : threads) allowed |= machine_.ThreadBinding(thread);
  if (allowed.Empty()) return;  // It has ended.
  busiest_ = process.used;
  facts_.allowed = allowed;
  facts_.quota = TightestQuota(mounts_, std::to_string(pid));
  facts_.environment = ParseEnvironment(FileOf(pid, "environ").text);
  facts_.stops.clear();
  for (QuotaStops stops : ReadQuotaStops(GroupsAbove("cpu", mounts_, std::to_string(pid)))) {
    const QuotaStops& before = stops_before_.try_emplace(stops.group, stops).first->second;
    stops.periods -= before.periods;
    stops.times -= before.times;
    stops.time -= before.time;
    if (stops.times > 0) facts_.stops.push_back(std::move(stops));
  }
}

void ProgramWatch::Look(const std::vector<pid_t>& processes) {
  const Clock::time_point now = Clock::now();
  const Duration interval = last_ ? now - *last_ : Duration(0);
  if (!first_) first_ = now;
  last_ = now;
  std::erase_if(processes_, [&](const auto& known) {
    return !std::binary_search(processes.begin(), processes.end(), known.first);
  });
  int threads = 0, wanting = 0, living = 0;
  for (const pid_t pid : processes) {
    Process& process = processes_.try_emplace(pid, pid).first->second;
    if (!process.sampler.Read(ProcessSampler::Look::kStates)) continue;
    ++living;
    threads += static_cast<int>(process.sampler.Threads().size());
    const Times grown = Advance(&process, now, interval, &wanting);
    sums_.run += grown.run;
    sums_.wait += grown.wait;
    if (looks_ % kAskEvery == 0) Ask(pid, process);
  }
  ++looks_;
  facts_.processes = std::max(facts_.processes, living);
  facts_.threads = std::max(facts_.threads, threads);
  facts_.most_wanting = std::max(facts_.most_wanting, wanting);
}

ProgramFacts ProgramWatch::Facts() const {
  ProgramFacts facts = facts_;
  if (!last_ || *last_ == *first_) return facts;
  facts.watched = *last_ - *first_;
  const double seconds = ToSeconds(facts.watched), wanted = ToSeconds(sums_.run + sums_.wait);
  facts.wanting = wanted / seconds;
  facts.used_cores = ToSeconds(sums_.run) / seconds;
  facts.waiting_share = wanted > 0 ? ToSeconds(sums_.wait) / wanted : 0;
  return facts;
}

}  // namespace cosched
