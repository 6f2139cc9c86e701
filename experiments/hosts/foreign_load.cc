#include "experiments/hosts/foreign_load.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

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

std::string ProcStat() {
  std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Duration BusyTime(const std::string& proc_stat, const CpuSet& cpus, int64_t ticks_per_second) {
  int64_t ticks = 0;
  std::istringstream lines(proc_stat);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    words >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
    if (!words || name.size() < 4 || name.compare(0, 3, "cpu") != 0) continue;
    const std::optional<CpuSet> cpu = CpuSet::Parse(name.substr(3));
    if (!cpu || !cpus.Contains(*cpu)) continue;
    ticks += user + nice + system + irq + softirq + steal;
  }
  return FromSeconds(static_cast<double>(ticks) / static_cast<double>(ticks_per_second));
}

std::map<int, Duration> BusyTimes(const CpuSet& cpus) {
  const std::string proc_stat = ProcStat();
  std::map<int, Duration> times;
  for (const int cpu : cpus) times[cpu] = BusyTime(proc_stat, CpuSet{cpu}, sysconf(_SC_CLK_TCK));
  return times;
}

ForeignLoad::ForeignLoad(CpuSet cpus) : cpus_(std::move(cpus)), start_(Read()) {}

ForeignLoad::Reading ForeignLoad::Read() const {
  return {.at = std::chrono::steady_clock::now().time_since_epoch(),
          .busy = BusyTime(ProcStat(), cpus_, sysconf(_SC_CLK_TCK)),
          .own = Used(RUSAGE_SELF) + Used(RUSAGE_CHILDREN)};
}

double ForeignLoad::Share(Duration ours) const {
  for (int i = 0; i < 200 && HasUnreapedChild(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const Reading now = Read();
  const Duration foreign = (now.busy - start_.busy) - (now.own - start_.own) - ours;
  const double available = ToSeconds(now.at - start_.at) * cpus_.Count();
  return available > 0 ? std::clamp(ToSeconds(foreign) / available, 0.0, 1.0) : 0;
}

}  // namespace cosched
