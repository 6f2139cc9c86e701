#include "experiments/hosts/process_sampler.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace cosched {
namespace {

// Beyond this many descriptors a sampler opens and closes its files each time: a crowd of wide
// tenants must not use up the harness's descriptors.
constexpr int kHighestKeptFd = 512;

// The number that starts after any blanks at `position`; -1 if there is none.
int64_t NumberAt(std::string_view text, size_t position) {
  position = std::min(text.find_first_not_of(" \t", position), text.size());
  int64_t value = -1;
  std::from_chars(text.data() + position, text.data() + text.size(), value);
  return value;
}

// What follows "\n<key>:\t" in /proc/…/status, or npos.
size_t After(std::string_view status, std::string_view key) {
  const size_t found = status.find(key);
  return found == std::string_view::npos ? found : found + key.size();
}

// Reads a small /proc file through `kept`, which it opens (and may leave open). Empty if the thread
// is gone.
std::string_view ReadProc(const std::string& path, bool keep, UniqueFd* kept, char* buffer,
                          size_t size) {
  if (!*kept) *kept = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!*kept) return {};
  ssize_t length;
  do {
    length = pread(kept->get(), buffer, size, 0);
  } while (length < 0 && errno == EINTR);
  if (!keep || length <= 0 || kept->get() > kHighestKeptFd) kept->Reset();
  return {buffer, static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

}  // namespace

bool IsComputeThreadName(std::string_view name) {
  return name.starts_with("inter/") || name.starts_with("intra/");
}

std::vector<pid_t> ThreadsOf(pid_t process) {
  std::vector<pid_t> threads;
  const std::string path = "/proc/" + std::to_string(process) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (directory == nullptr) return threads;
  while (const dirent* entry = readdir(directory.get())) {
    const pid_t tid = std::atoi(entry->d_name);
    if (tid > 0) threads.push_back(tid);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

bool ProcessSampler::ReadThread(Thread* thread, Files* files) {
  const std::string folder =
      "/proc/" + std::to_string(process_) + "/task/" + std::to_string(thread->tid);
  char buffer[4096];
  const std::string_view status =
      ReadProc(folder + "/status", thread->compute, &files->status, buffer, sizeof buffer);
  const size_t name = After(status, "Name:\t");
  const size_t state = After(status, "\nState:\t");
  if (name == std::string_view::npos || state >= status.size()) return false;
  // A pool names a thread when it first needs it, so an unknown one is looked at again each time.
  thread->compute = thread->compute || IsComputeThreadName(status.substr(name, 16));
  thread->state = status[state];
  const size_t switches = After(status, "\nnonvoluntary_ctxt_switches:");
  if (switches != std::string_view::npos) {
    thread->involuntary_switches = NumberAt(status, switches);
  }
  const std::string_view times =
      ReadProc(folder + "/schedstat", thread->compute, &files->schedstat, buffer, sizeof buffer);
  if (times.empty()) return false;
  thread->run_time = Duration(NumberAt(times, 0));
  thread->run_queue_wait = Duration(NumberAt(times, times.find(' ')));
  return true;
}

bool ProcessSampler::Read() {
  const std::vector<pid_t> tids = ThreadsOf(process_);
  if (tids.empty()) return false;
  std::vector<Thread> threads;
  std::vector<Files> files;
  size_t old = 0;
  const auto retire = [this](const Thread& thread) {
    if (!thread.compute) return;
    ended_.run_time += thread.run_time;
    ended_.run_queue_wait += thread.run_queue_wait;
    ended_.involuntary_switches += thread.involuntary_switches;
  };
  for (const pid_t tid : tids) {
    for (; old < threads_.size() && threads_[old].tid < tid; ++old) retire(threads_[old]);
    Thread thread;
    Files open_files;
    thread.tid = tid;
    if (old < threads_.size() && threads_[old].tid == tid) {
      thread = threads_[old];
      open_files = std::move(files_[old++]);
    }
    if (ReadThread(&thread, &open_files)) {
      threads.push_back(thread);
      files.push_back(std::move(open_files));
    } else {
      retire(thread);
    }
  }
  for (; old < threads_.size(); ++old) retire(threads_[old]);
  threads_ = std::move(threads);
  files_ = std::move(files);
  return true;
}

ProcessSampler::Totals ProcessSampler::ComputeTotals() const {
  Totals totals = ended_;
  for (const Thread& thread : threads_) {
    if (!thread.compute) continue;
    totals.runnable += thread.state == 'R' ? 1 : 0;
    totals.run_time += thread.run_time;
    totals.run_queue_wait += thread.run_queue_wait;
    totals.involuntary_switches += thread.involuntary_switches;
  }
  return totals;
}

}  // namespace cosched
