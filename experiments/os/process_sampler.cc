#include "experiments/os/process_sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "experiments/os/process_children.h"

namespace cosched {
namespace {

constexpr size_t kTurns = 16;  // What need not be fresh is read once in so many samples.

// Beyond this descriptor a sampler opens and closes its files each time: a crowd of wide tenants
// must not use up the harness's descriptors.
int HighestKeptFd() {
  static const int highest = [] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
    return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 16) / 2);
  }();
  return highest;
}

// The number that starts after any blanks at `position`; -1 if there is none.
int64_t NumberAt(std::string_view text, size_t position) {
  position = std::min(text.find_first_not_of(" \t", position), text.size());
  int64_t value = -1;
  std::from_chars(text.data() + position, text.data() + text.size(), value);
  return value;
}

// The number after "<key>", blanks and a colon, as /proc/…/{status,sched} have it; -1 if there is
// none.
int64_t NumberOf(std::string_view text, std::string_view key) {
  const size_t found = text.find(key);
  if (found == std::string_view::npos) return -1;
  const size_t colon = text.find(':', found);
  return colon == std::string_view::npos ? -1 : NumberAt(text, colon + 1);
}

struct ThreadFile {
  pid_t process, tid;
  const char* name;
  std::string Path() const {
    return "/proc/" + std::to_string(process) + "/task/" + std::to_string(tid) + "/" + name;
  }
};

// Reads a small /proc file through `kept`, which it opens and leaves open. Empty if the thread is
// gone.
std::string_view ReadProc(const ThreadFile& file, UniqueFd* kept, char* buffer, size_t size) {
  if (!*kept) *kept = UniqueFd(open(file.Path().c_str(), O_RDONLY | O_CLOEXEC));
  if (!*kept) return {};
  ssize_t length;
  do {
    length = pread(kept->get(), buffer, size, 0);
  } while (length < 0 && errno == EINTR);
  if (length <= 0 || kept->get() > HighestKeptFd()) kept->Reset();
  return {buffer, static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

std::optional<Duration> TimeOf(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

bool SkipsUnchanged(ProcessSampler::Look look) {
  return look == ProcessSampler::Look::kChanges || look == ProcessSampler::Look::kSample;
}

}  // namespace

std::optional<PoolThread> ParsePoolThread(std::string_view name) {
  constexpr std::string_view kInter = "inter/", kIntra = "intra/";
  const bool inter = name.starts_with(kInter);
  if (!inter && !name.starts_with(kIntra)) return std::nullopt;
  name.remove_prefix(inter ? kInter.size() : kIntra.size());
  int index = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || rest != name.data() + name.size() || index < 0) return std::nullopt;
  return PoolThread{inter ? PoolThread::Pool::kInter : PoolThread::Pool::kIntra, index};
}

// When a thread ends while the kernel lists it, those after it may be left out. Such a list
// contains one that is gone, so the next one differs: two that are equal are complete.
std::vector<pid_t> ThreadsOf(pid_t process) {
  constexpr int kMost = 100;  // Looks at a process in which threads end all the time.
  const std::string path = "/proc/" + std::to_string(process) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (directory == nullptr) return {};
  std::vector<pid_t> before, threads;
  for (int i = 0; i < kMost && (i == 0 || threads != before); ++i) {
    before = std::exchange(threads, {});
    rewinddir(directory.get());
    while (const dirent* entry = readdir(directory.get())) {
      const pid_t tid = std::atoi(entry->d_name);
      if (tid > 0) threads.push_back(tid);
    }
    std::sort(threads.begin(), threads.end());
  }
  return threads;
}

// True if the thread is there.
bool ProcessSampler::ReadStat(Thread* thread, Source* source) {
  // Counted from the state, which follows the name in parentheses: proc(5)'s fields 39 and 41.
  constexpr int kCpu = 36, kPolicy = 38;
  char buffer[1024];
  const std::string_view stat =
      ReadProc(ThreadFile{process_, thread->tid, "stat"}, &source->stat, buffer, sizeof buffer);
  const size_t open = stat.find('('), close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos) return false;
  // A pool names a thread when it first needs it, so an unknown one is looked at again each time.
  if (all_compute_) {
    thread->compute = true;
  } else if (!thread->compute) {
    thread->worker = ParsePoolThread(stat.substr(open + 1, close - open - 1));
    thread->compute = thread->worker.has_value();
  }
  size_t position = close + 2;
  thread->state = position < stat.size() ? stat[position] : '?';
  int cpu = -1;
  for (int field = 0; field <= kPolicy && position < stat.size(); ++field) {
    if (field == kCpu) cpu = static_cast<int>(NumberAt(stat, position));
    if (field == kPolicy) thread->idle_class = NumberAt(stat, position) == SCHED_IDLE;
    position = stat.find(' ', position) + 1;
    if (position == 0) break;
  }
  if (cpu < 0) return true;
  // The thread may be moved from queue to queue without running.
  if (thread->cpu >= 0 && cpu != thread->cpu) source->counters_stale = true;
  if (!has_sched_ && thread->cpu >= 0 && cpu != thread->cpu) ++thread->migrations;
  thread->cpu = cpu;
  return true;
}

bool ProcessSampler::ReadThread(Look look, Thread* thread, Source* source) {
  char buffer[128];
  const std::string_view times = ReadProc(ThreadFile{process_, thread->tid, "schedstat"},
                                          &source->schedstat, buffer, sizeof buffer);
  if (times.empty()) return false;
  const size_t second = times.find(' '), third = times.find(' ', second + 1);
  const Duration run_time(NumberAt(times, 0)), wait(NumberAt(times, second));
  const int64_t turns = NumberAt(times, third);
  const bool ran = run_time != thread->run_time || turns != thread->turns || thread->state == '?';
  thread->run_time = run_time;
  thread->run_queue_wait = wait;
  thread->turns = turns;
  thread->fresh = true;
  source->ran = ran;
  source->counters_stale = source->counters_stale || ran;
  // Who waits for a core and has not run can't have gone to sleep, but the kernel may have moved it
  // to another core's queue.
  const bool may_have_moved = thread->state == 'R' && (follows_queues_ || IsItsTurn(*thread));
  if (SkipsUnchanged(look) && !ran && !may_have_moved) return true;
  return ReadStat(thread, source);
}

void ProcessSampler::ReadCountersOf(Thread* thread, Source* source) {
  source->counters_stale = false;
  char buffer[4096];
  if (has_sched_) {
    const std::string_view sched =
        ReadProc(ThreadFile{process_, thread->tid, "sched"}, &source->sched, buffer, sizeof buffer);
    const int64_t switches = NumberOf(sched, "nr_involuntary_switches");
    const int64_t migrations = NumberOf(sched, "nr_migrations");
    if (switches >= 0 && migrations >= 0) {
      thread->involuntary_switches = std::max(thread->involuntary_switches, switches);
      thread->migrations = std::max(thread->migrations, migrations);
      return;
    }
    // A kernel without CONFIG_SCHED_DEBUG. (Of a thread that has just ended both are wanting.)
    has_sched_ = access(ThreadFile{process_, thread->tid, "stat"}.Path().c_str(), F_OK) != 0;
  }
  UniqueFd status_file;
  const std::string_view status =
      ReadProc(ThreadFile{process_, thread->tid, "status"}, &status_file, buffer, sizeof buffer);
  thread->involuntary_switches =
      std::max(thread->involuntary_switches, NumberOf(status, "nonvoluntary_ctxt_switches"));
}

// These files are the dearest, so a sample reads a sixteenth of them.
void ProcessSampler::ReadCounters(Look look) {
  if (look == Look::kStates || look == Look::kChanges || threads_.empty()) return;
  const size_t count = threads_.size();
  size_t budget = look == Look::kLast ? count : count / kTurns + 1;
  size_t looked = 0;
  for (; looked < count && budget > 0; ++looked) {
    const size_t i = (next_counters_ + looked) % count;
    if (!threads_[i].compute || !sources_[i].counters_stale) continue;
    ReadCountersOf(&threads_[i], &sources_[i]);
    --budget;
  }
  next_counters_ = (next_counters_ + looked) % count;
}

void ProcessSampler::Retire(const Thread& thread) {
  if (!thread.compute) return;
  ended_.run_time += thread.run_time;
  ended_.run_queue_wait += thread.run_queue_wait;
  ended_.involuntary_switches += thread.involuntary_switches;
  ended_.migrations += thread.migrations;
}

void ProcessSampler::ReadAll(const std::vector<pid_t>& tids, Look look) {
  std::vector<Thread> threads;
  std::vector<Source> sources;
  size_t old = 0;
  for (const pid_t tid : tids) {
    for (; old < threads_.size() && threads_[old].tid < tid; ++old) Retire(threads_[old]);
    Thread thread;
    Source source;
    thread.tid = tid;
    if (old < threads_.size() && threads_[old].tid == tid) {
      thread = threads_[old];
      source = std::move(sources_[old++]);
    }
    if (ReadThread(look, &thread, &source)) {
      threads.push_back(thread);
      sources.push_back(std::move(source));
    } else {
      Retire(thread);
    }
  }
  for (; old < threads_.size(); ++old) Retire(threads_[old]);
  threads_ = std::move(threads);
  sources_ = std::move(sources);
  // Taken after them, as those that run go on meanwhile: what is unknown is never too little, or
  // every sample would look for it in vain.
  if (const auto used = UsedByProcess()) unknown_time_ = *used - RunTimeOfAll();
}

Duration ProcessSampler::RunTimeOfAll() const {
  Duration sum = ended_.run_time;
  for (const Thread& thread : threads_) sum += thread.run_time;
  return sum;
}

// Besides those that may have run one of the others, so that none is forgotten.
bool ProcessSampler::IsDue(size_t index) const {
  const Thread& thread = threads_[index];
  return sources_[index].ran || thread.state == 'R' || index == samples_ % threads_.size();
}

bool ProcessSampler::ReadKnown(size_t index) {
  return ReadThread(Look::kChanges, &threads_[index], &sources_[index]);
}

// As the kernel counts them: a folder has a link for each folder in it. -1 if the process is gone.
int ProcessSampler::ThreadCount() {
  const std::string path = "/proc/" + std::to_string(process_) + "/task";
  if (!tasks_) tasks_ = UniqueFd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!tasks_ || fstat(tasks_.get(), &status) != 0) return -1;
  return static_cast<int>(status.st_nlink) - 2;
}

// Of the threads that are known, those that may have run. False if all have to be looked for: one of
// them is gone, there are others, or the kernel does not tell what they used together.
bool ProcessSampler::ReadChanged() {
  for (Thread& thread : threads_) thread.fresh = false;
  const std::optional<Duration> used = UsedByProcess();  // Before any of them goes on.
  if (!used || ThreadCount() != static_cast<int>(threads_.size())) return false;
  const auto all_known = [&] { return *used - RunTimeOfAll() <= unknown_time_; };
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (IsDue(i) && !ReadKnown(i)) return false;
  }
  if (all_known()) return true;
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (!threads_[i].fresh && !ReadKnown(i)) return false;
  }
  return all_known();
}

// nullopt: the process is gone, or the kernel does not tell.
std::optional<Duration> ProcessSampler::UsedByProcess() {
  clockid_t clock{};
  if (!clock_ && clock_getcpuclockid(process_, &clock) == 0) clock_ = clock;
  return clock_ ? TimeOf(*clock_) : std::nullopt;
}

bool ProcessSampler::IsItsTurn(const Thread& thread) const {
  return (static_cast<size_t>(thread.tid) + samples_) % kTurns == 0;
}

// Of those that are gone, what they used stays.
void ProcessSampler::FindDescendants() {
  const std::vector<pid_t> living = DescendantsOf(process_);
  const auto gone = [&](ProcessSampler& other) {
    if (std::binary_search(living.begin(), living.end(), other.process_)) return false;
    ended_others_ += other.ComputeTotals();
    return true;
  };
  others_.erase(std::remove_if(others_.begin(), others_.end(), gone), others_.end());
  for (const pid_t process : living) {
    const auto knows = [process](const ProcessSampler& other) { return other.process_ == process; };
    if (std::any_of(others_.begin(), others_.end(), knows)) continue;
    Follow(process);
    others_.back().all_compute_ = true;
  }
}

bool ProcessSampler::Read(Look look) {
  bool there = ReadOwn(look);
  if (follows_descendants_) FindDescendants();
  all_.clear();
  if (others_.empty()) return there;
  all_ = threads_;
  for (ProcessSampler& other : others_) {
    const bool other_there = other.ReadOwn(look);
    there = there && (other_there || follows_descendants_);
    for (Thread thread : other.threads_) {
      const bool dead = thread.state == 'Z' || thread.state == 'X';  // Not reaped yet.
      if (dead && follows_descendants_) continue;
      if (thread.worker) thread.worker->index += kOfOthers;
      all_.push_back(thread);
    }
  }
  return there;
}

bool ProcessSampler::ReadOwn(Look look) {
  bool known = false;
  ++samples_;
  if (SkipsUnchanged(look) && !threads_.empty()) known = ReadChanged();
  if (!known) {
    const std::vector<pid_t> tids = ThreadsOf(process_);
    if (tids.empty()) return false;
    ReadAll(tids, look);
  }
  ReadCounters(look);
  return true;
}

ProcessSampler::Totals& ProcessSampler::Totals::operator+=(const Totals& more) {
  run_time += more.run_time;
  run_queue_wait += more.run_queue_wait;
  involuntary_switches += more.involuntary_switches;
  migrations += more.migrations;
  return *this;
}

ProcessSampler::Totals ProcessSampler::ComputeTotals() const {
  Totals totals = ended_;
  totals += ended_others_;
  for (const Thread& thread : threads_) {
    if (!thread.compute) continue;
    totals.run_time += thread.run_time;
    totals.run_queue_wait += thread.run_queue_wait;
    totals.involuntary_switches += thread.involuntary_switches;
    totals.migrations += thread.migrations;
  }
  for (const ProcessSampler& other : others_) totals += other.ComputeTotals();
  return totals;
}

std::optional<Duration> CpuTimeOf(pid_t process) {
  clockid_t clock{};
  // 0 and less would be this process.
  if (process <= 0 || clock_getcpuclockid(process, &clock) != 0) return std::nullopt;
  return TimeOf(clock);
}

}  // namespace cosched
