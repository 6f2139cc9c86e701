#include "experiments/os/foreign_load.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <thread>
#include <utility>

#include "engine/base/file_bytes.h"

namespace cosched {
namespace {

Duration Used(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto time = [](const timeval& value) {
    return std::chrono::seconds(value.tv_sec) + std::chrono::microseconds(value.tv_usec);
  };
  return time(usage.ru_utime) + time(usage.ru_stime);
}

bool HasUnreapedChild() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

}  // namespace

std::map<int, Duration> BusyTimes(const std::string& proc_stat, const CpuSet& cpus,
                                  int64_t ticks_per_second) {
  std::map<int, Duration> times;
  for (const int cpu : cpus) times[cpu] = Duration(0);
  std::istringstream lines(proc_stat);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cpu")) break;  // They come first.
    std::istringstream words(line);
    std::string name;
    int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    words >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
    int cpu = -1;  // "cpu" alone is the sum.
    std::from_chars(name.data() + 3, name.data() + name.size(), cpu);
    const auto time = times.find(cpu);
    if (!words || time == times.end()) continue;
    const int64_t ticks = user + nice + system + irq + softirq + steal;
    time->second = FromSeconds(static_cast<double>(ticks) / static_cast<double>(ticks_per_second));
  }
  return times;
}

std::map<int, Duration> BusyTimes(const CpuSet& cpus) {
  return BusyTimes(FileBytes("/proc/stat"), cpus, sysconf(_SC_CLK_TCK));
}

ForeignLoad::Sources ForeignLoad::WithChildren() {
  Sources sources = WithoutChildren();
  sources.own = [] {
    for (int i = 0; i < 200 && HasUnreapedChild(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Used(RUSAGE_SELF) + Used(RUSAGE_CHILDREN);
  };
  return sources;
}

ForeignLoad::Sources ForeignLoad::WithoutChildren() {
  return {.proc_stat = [] { return FileBytes("/proc/stat"); },
          .ticks_per_second = sysconf(_SC_CLK_TCK),
          .now = [] { return Duration(std::chrono::steady_clock::now().time_since_epoch()); },
          .own = [] { return Used(RUSAGE_SELF); }};
}

ForeignLoad::ForeignLoad(CpuSet cpus, Sources sources)
    : cpus_(std::move(cpus)), sources_(std::move(sources)), start_(Read()) {}

ForeignLoad::Reading ForeignLoad::Read() const {
  Reading reading{.at = {}, .busy = {}, .own = sources_.own()};
  for (const auto& [cpu, time] :
       BusyTimes(sources_.proc_stat(), cpus_, sources_.ticks_per_second)) {
    reading.busy += time;
  }
  reading.at = sources_.now();
  return reading;
}

double ForeignLoad::Share(Duration ours) const {
  const Reading now = Read();
  const Duration foreign = (now.busy - start_.busy) - (now.own - start_.own) - ours;
  const double available = ToSeconds(now.at - start_.at) * cpus_.Count();
  return available > 0 ? std::clamp(ToSeconds(foreign) / available, 0.0, 1.0) : 0;
}

}  // namespace cosched
