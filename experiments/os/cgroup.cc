#include "experiments/os/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <sstream>
#include <system_error>

#include "engine/base/check.h"
#include "engine/base/file_bytes.h"
#include "engine/base/unique_fd.h"
#include "experiments/os/cgroup_hierarchy.h"
#include "experiments/os/cgroup_site.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Throw(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

UniqueFd OpenControlFile(const fs::path& file, int flags) {
  return UniqueFd(open(file.c_str(), flags | O_CLOEXEC));
}

UniqueFd OpenToWrite(const fs::path& file) {
  UniqueFd fd = OpenControlFile(file, O_WRONLY);
  if (!fd) Throw(errno, file.string());
  return fd;
}

// The number after "<key> " or "<key>=" in a kernel file that is kept open; nullopt if it is not
// there.
std::optional<int64_t> ReadNumber(int fd, std::string_view key) {
  char buffer[1024];
  const ssize_t length = fd < 0 ? -1 : pread(fd, buffer, sizeof buffer, 0);
  if (length <= 0) return std::nullopt;
  const std::string_view text(buffer, static_cast<size_t>(length));
  const size_t found = text.find(key);
  if (found == std::string_view::npos) return std::nullopt;
  int64_t number = 0;
  const char* const start = text.data() + found + key.size();
  if (std::from_chars(start, text.data() + text.size(), number).ec != std::errc()) return {};
  return number;
}

}  // namespace

CgroupMounts CgroupMounts::Parse(std::string_view mountinfo) {
  // "31 23 0:28 ROOT POINT options [tags] - TYPE source SUPER_OPTIONS"
  CgroupMounts mounts;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string skipped, root, point, type, source, options;
    before >> skipped >> skipped >> skipped >> root >> point;
    after >> type >> source >> options;
    if (type == "cgroup2" && !mounts.v2) mounts.v2 = Mount{root, point};
    if (type != "cgroup") continue;
    std::istringstream words(options);
    for (std::string word; std::getline(words, word, ',');)
      mounts.v1.try_emplace(word, Mount{root, point});
  }
  return mounts;
}

CgroupMounts CgroupMounts::Here() { return Parse(FileBytes("/proc/self/mountinfo")); }

struct Cgroup::Impl {
  bool v2 = false;
  std::string path;
  std::vector<fs::path> folders;  // The created ones, to be removed.
  std::vector<UniqueFd> doors;
  fs::path cpuset;
  UniqueFd cpus, mems;
  fs::path cpu;  // Empty = no cpu controller of its own.
  bool cpu_v2 = false;
  int64_t period_us = 0;  // That SetLimit wrote last.
  UniqueFd stat, pressure;
  UniqueFd usage;  // The unified cpu.stat: there with or without controllers.

  ~Impl() {
    doors.clear();
    for (const fs::path& folder : folders) RemoveOwnCgroup(folder);
  }
  void Enter(const fs::path& folder);
  void OpenCounters(const fs::path& unified);
};

void Cgroup::Impl::Enter(const fs::path& folder) {
  if (std::find(folders.begin(), folders.end(), folder) != folders.end()) return;
  folders.push_back(folder);
  doors.push_back(OpenToWrite(folder / "cgroup.procs"));
}

// unified: "" = none of its own.
void Cgroup::Impl::OpenCounters(const fs::path& unified) {
  if (!cpu.empty()) stat = OpenControlFile(cpu / "cpu.stat", O_RDONLY);
  if (unified.empty()) return;
  pressure = OpenControlFile(unified / "cpu.pressure", O_RDONLY);
  usage = OpenControlFile(unified / "cpu.stat", O_RDONLY);
}

Cgroup::Cgroup(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cgroup::~Cgroup() = default;
Cgroup::Cgroup(Cgroup&&) noexcept = default;
Cgroup& Cgroup::operator=(Cgroup&&) noexcept = default;

Cgroup Cgroup::Create(const std::string& name, const CpuSet& cores, bool quota,
                      const CgroupMounts& mounts) {
  const std::optional<CgroupHierarchy> cpuset = FindHierarchy(mounts, "cpuset");
  if (!cpuset) Throw(ENOTSUP, "there is no cpuset controller");
  auto impl = std::make_unique<Impl>();
  impl->v2 = cpuset->v2;
  impl->cpuset = MakeCgroup(*cpuset, "cpuset", name, mounts);
  impl->path = cpuset->PathOf(impl->cpuset);
  impl->Enter(impl->cpuset);
  impl->cpus = OpenToWrite(impl->cpuset / "cpuset.cpus");
  impl->mems = OpenControlFile(impl->cpuset / "cpuset.mems", O_WRONLY);
  if (quota) {
    const std::optional<CgroupHierarchy> cpu = FindHierarchy(mounts, "cpu");
    if (!cpu) Throw(ENOTSUP, "there is no cpu controller");
    impl->cpu = MakeCgroup(*cpu, "cpu", name, mounts);
    impl->cpu_v2 = cpu->v2;
    impl->Enter(impl->cpu);
  }
  fs::path unified;
  if (cpuset->v2) {
    unified = impl->cpuset;
  } else if (const std::optional<CgroupHierarchy> hierarchy = FindUnified(mounts)) {
    try {  // Only for what it counts.
      unified = MakeCgroup(*hierarchy, "", name, mounts);
      impl->Enter(unified);
    } catch (const std::system_error&) {
      unified.clear();
    }
  }
  impl->OpenCounters(unified);
  Cgroup group(std::move(impl));
  group.SetCores(cores);
  return group;
}

Cgroup Cgroup::Of(pid_t process, const CgroupMounts& mounts) {
  const std::string pid = std::to_string(process);
  const std::optional<CgroupHierarchy> cpuset = FindHierarchy(mounts, "cpuset");
  if (!cpuset) Throw(ENOTSUP, "there is no cpuset controller");
  const auto path = CgroupPathOf(pid, *cpuset, "cpuset", mounts);
  if (!path) Throw(ESRCH, "process " + pid);
  auto impl = std::make_unique<Impl>();
  impl->v2 = cpuset->v2;
  impl->path = *path;
  impl->cpuset = cpuset->FolderOf(*path);
  impl->cpus = OpenToWrite(impl->cpuset / "cpuset.cpus");
  impl->mems = OpenControlFile(impl->cpuset / "cpuset.mems", O_WRONLY);
  impl->doors.push_back(OpenToWrite(impl->cpuset / "cgroup.procs"));
  // A group that it shares with everybody else says nothing of it.
  if (const std::optional<CgroupHierarchy> cpu = FindHierarchy(mounts, "cpu")) {
    const auto group = CgroupPathOf(pid, *cpu, "cpu", mounts);
    if (group && *group != "/") impl->cpu = cpu->FolderOf(*group);
    impl->cpu_v2 = cpu->v2;
  }
  fs::path unified;
  if (const std::optional<CgroupHierarchy> hierarchy = FindUnified(mounts)) {
    const auto group = CgroupPathOf(pid, *hierarchy, "", mounts);
    if (group && *group != "/") unified = hierarchy->FolderOf(*group);
  }
  impl->OpenCounters(unified);
  return Cgroup(std::move(impl));
}

const std::string& Cgroup::Path() const { return impl_->path; }

void Cgroup::Attach(pid_t process) {
  for (const UniqueFd& door : impl_->doors) {
    if (const int error = WriteToCgroup(door.get(), std::to_string(process))) {
      Throw(error, "moving process " + std::to_string(process) + " to the cgroup " + impl_->path);
    }
  }
}

std::vector<int> Cgroup::Doors() const {
  std::vector<int> fds;
  for (const UniqueFd& door : impl_->doors) fds.push_back(door.get());
  return fds;
}

void Cgroup::SetCores(const CpuSet& cores) {
  CHECK(!cores.Empty()) << impl_->path;
  if (const int error = WriteToCgroup(impl_->cpus.get(), cores.ToString())) {
    Throw(error, "setting the cpuset of " + impl_->path + " to " + cores.ToString());
  }
}

CpuSet Cgroup::Cores() const {
  std::string text = FirstLineOfCgroup(
      impl_->cpuset / (impl_->v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus"));
  if (text.empty()) text = FirstLineOfCgroup(impl_->cpuset / "cpuset.cpus");
  return CpuSet::Parse(text).value_or(CpuSet());
}

int Cgroup::MemoryFile() const { return impl_->mems.get(); }

void Cgroup::SetLimit(const std::optional<CpuLimit>& limit) {
  if (impl_->cpu.empty()) Throw(ENOTSUP, impl_->path + " has no cpu controller of its own");
  const int64_t period_us = limit.value_or(CpuLimit{}).period.count();
  const std::string period = std::to_string(period_us);
  const std::string quota = std::to_string(limit ? limit->amount.milli * period_us / 1000 : 0);
  if (impl_->cpu_v2)
    return WriteCgroupFile(impl_->cpu / "cpu.max", (limit ? quota : "max") + " " + period);
  // The kernel refuses a period of which the old quota would be too small a part.
  if (impl_->period_us != period_us) {
    WriteCgroupFile(impl_->cpu / "cpu.cfs_quota_us", "-1");
    WriteCgroupFile(impl_->cpu / "cpu.cfs_period_us", period);
    impl_->period_us = period_us;
  }
  WriteCgroupFile(impl_->cpu / "cpu.cfs_quota_us", limit ? quota : "-1");
}

bool Cgroup::Kill(std::chrono::milliseconds limit) const {
  return KillCgroupMembers(impl_->cpuset, limit);
}

Cgroup::Counters Cgroup::Read() const {
  using std::chrono::microseconds;
  Counters counters;
  const auto throttled =
      ReadNumber(impl_->stat.get(), impl_->cpu_v2 ? "throttled_usec " : "throttled_time ");
  if (throttled) counters.throttled = Duration(impl_->cpu_v2 ? *throttled * 1000 : *throttled);
  // The first line is "some avg10=… total=<microseconds>".
  if (const auto total = ReadNumber(impl_->pressure.get(), "total=")) {
    counters.pressure = microseconds(*total);
  }
  if (const auto used = ReadNumber(impl_->usage.get(), "usage_usec ")) {
    counters.used = microseconds(*used);
  }
  return counters;
}

namespace {

bool CountsPressure(const CgroupMounts& mounts) {
  const std::optional<CgroupHierarchy> unified = FindUnified(mounts);
  return unified && FindCgroupSite(*unified, "", mounts).site &&
         !FileBytes(mounts.proc / "pressure/cpu").empty();
}

}  // namespace

Cgroup::Support Cgroup::Probe(const CgroupMounts& mounts) {
  Support support;
  const auto lacks = [&support](const std::string& what, const CgroupSiteSearch& search) {
    support.why_not += (support.why_not.empty() ? "" : "; ") + what + search.why_not;
    if (support.remedy.empty()) support.remedy = search.remedy;
  };
  const auto search = [&mounts](const char* controller) -> CgroupSiteSearch {
    const std::optional<CgroupHierarchy> hierarchy = FindHierarchy(mounts, controller);
    if (hierarchy) return FindCgroupSite(*hierarchy, controller, mounts);
    return {{}, fmt::format("there is no {} controller", controller), ""};
  };
  const CgroupSiteSearch cpuset = search("cpuset");
  if (!cpuset.site) {
    lacks("no cpuset: ", cpuset);
    return support;
  }
  support.cpuset = true;
  support.where = cpuset.site->base / kCgroupParent;
  support.remedy = cpuset.remedy;
  support.pressure = CountsPressure(mounts);
  if (!support.pressure) lacks("no pressure of single groups (no cgroup2, or no PSI)", {});
  const CgroupSiteSearch quota = search("cpu");
  support.quota = quota.site.has_value();
  if (!support.quota) lacks("no CPU quota: ", quota);
  return support;
}

std::string CpusetPathOf(pid_t process, const CgroupMounts& mounts) {
  const std::optional<CgroupHierarchy> cpuset = FindHierarchy(mounts, "cpuset");
  if (!cpuset) return {};
  return CgroupPathOf(std::to_string(process), *cpuset, "cpuset", mounts).value_or("");
}

std::vector<fs::path> GroupsAbove(const std::string& controller, const CgroupMounts& mounts,
                                  const std::string& process) {
  const std::optional<CgroupHierarchy> hierarchy = FindHierarchy(mounts, controller);
  if (!hierarchy) return {};
  const fs::path& top = hierarchy->mount.point;
  const std::string own = CgroupPathOf(process, *hierarchy, controller, mounts).value_or("/");
  // A group outside of what is mounted here is told as "/../…": only the top can be seen of it.
  const fs::path below = hierarchy->FolderOf(own).lexically_normal().lexically_relative(top);
  std::vector<fs::path> groups = {top};
  if (below.empty() || *below.begin() == ".." || below == ".") return groups;
  for (const fs::path& name : below) groups.insert(groups.begin(), groups.front() / name);
  return groups;
}

}  // namespace cosched
