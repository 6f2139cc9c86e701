#include "experiments/cli/machine_findings.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "engine/base/cache_sizes.h"
#include "engine/base/file_bytes.h"
#include "engine/base/numa.h"
#include "engine/base/thread_limits.h"
#include "engine/base/topology.h"
#include "engine/kernels/kept_kernel_rates.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/winograd.h"
#include "experiments/config/machine_table.h"
#include "experiments/hosts/podman.h"
#include "experiments/launch/plots.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/cpu_quota.h"
#include "experiments/os/process_memory.h"
#include "experiments/os/realtime.h"
#include "experiments/os/this_binary.h"

namespace cosched {
namespace {

std::string ReadText(const std::filesystem::path& file) {
  std::string result = FileBytes(file);
  while (!result.empty() && result.back() == '\n') result.pop_back();
  return result;
}

Finding Cores(const Topology& topology) {
  const CpuSet& each = topology.OneThreadPerCore();
  const int cores = each.Count();
  Finding finding = {.what = "cores",
                     .found = fmt::format("{} ({}){}", cores, each.ToString(),
                                          topology.HasSiblings() ? ", one thread of each" : "")};
  if (cores < 2) {
    finding.severity = Severity::kLesser;
    finding.consequence =
        "there is nothing to share out: every policy gives the one core to one job at a time";
    finding.remedy = "run on a machine, or in a cpuset, of two cores or more";
  }
  return finding;
}

Finding CoreKinds(const Topology& topology) {
  const Topology cores = topology.Within(topology.OneThreadPerCore());
  Finding finding = {.what = "core kinds", .found = CoreKindsText(cores)};
  if (finding.found.empty()) {
    finding.found = "one, as far as is known";
    return finding;
  }
  finding.severity = Severity::kLesser;
  finding.consequence = "policies and the simulator take all cores for equally fast";
  finding.remedy = fmt::format("an experiment of one kind: [machine] cores = \"{}\"",
                               cores.CoreKinds().front().ToString());
  return finding;
}

// 3x3 convolutions of images of this size, as many channels out as in, by Winograd's filtering from
// so many channels on.
std::string WinogradFrom(int64_t side, const KernelRates& rates) {
  constexpr int64_t kMostChannels = 1024;
  int from = 0;
  for (int64_t channels = 16; channels <= kMostChannels && from == 0; channels += 16) {
    if (ChooseForSquareLayer(side, channels, rates) > 0) from = static_cast<int>(channels);
  }
  return from == 0 ? fmt::format("{0}x{0} never", side)
                   : fmt::format("{0}x{0} from {1} channels on", side, from);
}

// How fast this machine's kernels are, and what follows from it.
Finding Kernels() {
  const KeptKernelRates kept = ThisMachinesKernelRates();
  const KernelRates& rates = kept.rates;
  Finding finding = {.what = "kernels"};
  finding.found = fmt::format(
      "{}, {:.0f} GFLOP/s a core, {:.0f} in batched products; 3x3 convolutions by Winograd's "
      "filtering: {}, {}, {}; {}",
      KernelTarget(), rates.window_flops / 1e9, rates.product_flops / 1e9, WinogradFrom(56, rates),
      WinogradFrom(14, rates), WinogradFrom(7, rates),
      kept.why_fixed.empty()
          ? fmt::format("measured on {}{}, kept in {}", kept.date,
                        kept.disturbed ? " beside other programs (anew when none computes)" : "",
                        kept.file.string())
          : fmt::format("fixed values ({})", kept.why_fixed));
  if (kept.why_fixed.empty()) return finding;
  finding.severity = Severity::kLesser;
  finding.consequence = "kernels are chosen as for a core with AVX-512, whatever this one has";
  finding.remedy = "name a folder that can be written in $COSCHED_CACHE";
  return finding;
}

// What the engine has chosen for this machine, and from what.
Finding Engine() {
  const SecondLevelCache& cache = ThisMachinesSecondLevelCache();
  const auto kib = [](int64_t bytes) { return fmt::format("{} KiB", bytes / 1024); };
  return {
      .what = "engine",
      .found = fmt::format(
          "{} second-level cache a core{}: slices of batches and Winograd blocks of {}; bfloat16 "
          "{}",
          kib(cache.bytes), cache.known ? "" : " (assumed: the machine does not tell)",
          kib(cache.bytes), CpuHasBFloat16() ? "yes" : "no: the CPU has no instructions for it")};
}

// Hardware threads of our cores that this process may not use.
CpuSet ThreadsOfOthers(const CpuSet& ours) {
  CpuSet others;
  for (const int cpu : ours) {
    const std::optional<CpuSet> core = CpuSet::Parse(
        ReadText(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu)));
    if (core) others |= *core - ours;
  }
  return others;
}

Finding Smt(const Topology& topology) {
  const bool on = ReadText("/sys/devices/system/cpu/smt/active") == "1";
  Finding finding = {.what = "SMT", .found = on ? "on" : "off or unknown"};
  if (topology.HasSiblings()) {
    finding.found = fmt::format(
        "on, {} threads of {} cores: an experiment uses one of each, or, by [machine] smt = "
        "\"threads\", each as a core",
        topology.Cpus().Count(), topology.OneThreadPerCore().Count());
  }
  const CpuSet others = ThreadsOfOthers(topology.Cpus());
  if (!others.Empty()) {
    finding.severity = Severity::kLesser;
    finding.found +=
        fmt::format("; CPUs {} are threads of our cores and not ours to use", others.ToString());
    finding.consequence = "what runs on them makes our cores slower, and nothing marks it";
    finding.remedy = "a cpuset of whole cores, or echo off > /sys/devices/system/cpu/smt/control";
  }
  return finding;
}

Finding Numa(const Topology& topology) {
  const NumaMap map = NumaMap::Of(topology);
  const NumaNodes nodes = map.NodesOf(topology.Cpus());
  Finding finding = {.what = "NUMA", .found = "1 node"};
  if (nodes.Count() == 1) return finding;
  finding.found =
      fmt::format("{} nodes: memory follows tenants to those of their cores", nodes.Count());
  if (ReadText("/proc/sys/kernel/numa_balancing") == "1")
    finding.found += "; the kernel moves some on its own, too (kernel.numa_balancing)";
  if (const int error = MovePages(getpid(), nodes, nodes); error != 0) {
    finding.severity = Severity::kLesser;
    finding.found = fmt::format("{} nodes; memory can't be moved between them: {}", nodes.Count(),
                                std::generic_category().message(error));
    finding.consequence = "what tenants have in memory stays where they touched it first";
    finding.remedy = "in a container: a seccomp profile that lets it call migrate_pages";
  }
  return finding;
}

Finding Governor(const Topology& topology) {
  const std::string text = ReadText(fmt::format(
      "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", topology.Cpus().First()));
  Finding finding = {.what = "governor",
                     .found = text.empty() ? "unknown (a virtual machine?)" : text};
  if (!text.empty() && text != "performance") {
    finding.severity = Severity::kLesser;
    finding.consequence = "clock rates follow the load: intervals get wider, short jobs look slow";
    finding.remedy = "cpupower frequency-set -g performance";
  }
  return finding;
}

Finding Affinity(const Topology& topology) {
  const std::string online = ReadText("/sys/devices/system/cpu/online");
  Finding finding = {.what = "affinity", .found = "all online CPUs"};
  const std::optional<CpuSet> cpus = CpuSet::Parse(online);
  if (cpus && !topology.Cpus().Contains(*cpus)) {
    finding.severity = Severity::kLesser;
    finding.found = fmt::format("{} of the online {}", topology.Cpus().ToString(), online);
    finding.consequence = "experiments see only these CPUs; others may be used by somebody else";
    finding.remedy =
        "taskset -c " + online + ", or a wider cpuset (docker --cpuset-cpus), if more is wanted";
  }
  return finding;
}

Finding MayHaveThreads(const Topology& topology) {
  constexpr int64_t kBesidesPools = 4;  // Of a tenant: its main and control thread, and the like.
  const ThreadLimits limits = LimitsOfThreads();
  const int64_t cores = topology.OneThreadPerCore().Count();
  const int64_t wanted = cores * (cores + kBesidesPools);
  Finding finding = {.what = "threads", .found = limits.ToString()};
  const std::optional<int64_t> least = limits.Least();
  if (least && *least < wanted) {
    finding.severity = Severity::kLesser;
    finding.consequence = fmt::format(
        "as many tenants as cores, each on any number of them, have up to {} threads: jobs whose "
        "threads can't be started fail and say so",
        wanted);
    finding.remedy = "docker or podman --pids-limit, TasksMax= of a slice, ulimit -u; or cores.max";
  }
  return finding;
}

Finding Quota() {
  Finding finding = {.what = "CPU quota", .found = "none"};
  const std::optional<CpuQuota> quota = TightestQuota();
  if (!quota) return finding;
  finding.severity = Severity::kLesser;
  finding.found = Describe(*quota);
  finding.consequence =
      "the kernel stops tenants for tens of ms when the quota is used up; cells on more cores than "
      "the quota, and those in which it is used up, are marked";
  finding.remedy = "lift the quota of this container or slice (docker --cpus, systemd CPUQuota=)";
  return finding;
}

Finding Realtime() {
  const RealtimeScope scope;
  Finding finding = {.what = "SCHED_FIFO", .found = scope.description()};
  if (!scope.granted()) {
    finding.severity = Severity::kLesser;
    finding.consequence = "the harness competes with its tenants: grants settle milliseconds later";
    finding.remedy =
        "run as root, setcap cap_sys_nice+ep on the binary, or allow rtprio in "
        "/etc/security/limits.conf";
  }
  return finding;
}

Finding Cgroups() {
  const Cgroup::Support support = Cgroup::Probe();
  Finding finding = {.what = "cgroups"};
  finding.found =
      fmt::format("cpuset {}, CPU quota {}, pressure of a tenant {}", support.cpuset ? "yes" : "no",
                  support.quota ? "yes" : "no", support.pressure ? "yes" : "no");
  if (!support.why_not.empty()) finding.found += fmt::format(" ({})", support.why_not);
  if (support.cpuset) finding.found += fmt::format(", in {}", support.where.string());
  finding.remedy = support.remedy;
  if (support.why_not.empty() && support.remedy.empty()) return finding;
  finding.severity = Severity::kLesser;
  finding.consequence =
      !support.cpuset ? "tenants are held on their cores by affinity only, which a tenant could "
                        "change; no actuator = \"quota\""
      : !support.why_not.empty() ? "actuator = \"quota\" or pressure_us of samples.csv is missing"
                                 : "limits of this session's group don't hold for tenants";
  return finding;
}

Finding Containers() {
  Finding finding = {.what = "containers"};
  finding.remedy = WhyNoContainers();
  if (finding.remedy.empty()) {
    finding.found = ContainerRuntimeVersions();
    const std::string problem = TryContainer(ThisBinary());
    if (problem.empty()) return finding;
    finding.found += ", but a container does not start: " + problem;
    finding.remedy = "see whether podman --runtime runc runs anything on this machine";
  } else {
    finding.found = "not available";
  }
  finding.severity = Severity::kLesser;
  finding.consequence = "no backend = \"container\"";
  return finding;
}

Finding Pressure() {
  const bool there = !ReadText("/proc/pressure/cpu").empty();
  Finding finding = {.what = "PSI", .found = there ? "available" : "not available"};
  if (!there) {
    finding.severity = Severity::kLesser;
    finding.consequence =
        "no CPU pressure from the kernel; run-queue waits are still read from schedstat";
    finding.remedy = "boot with psi=1";
  }
  return finding;
}

Finding SchedStat() {
  const bool there = !ReadText("/proc/self/schedstat").empty();
  Finding finding = {.what = "schedstat", .found = there ? "available" : "not available"};
  if (!there) {
    finding.severity = Severity::kLesser;
    finding.consequence = "run-queue waits and CPU times are recorded as 0";
    finding.remedy = "a kernel with CONFIG_SCHED_INFO (Debian's has it)";
  }
  return finding;
}

Finding Python() {
  const std::string python = FindPython();
  Finding finding = {.what = "plots",
                     .found = python.empty() ? "no python with matplotlib and pandas" : python};
  if (python.empty()) {
    finding.severity = Severity::kLesser;
    finding.consequence = "runs end with the table, without plots";
    finding.remedy =
        "apt-get install python3-matplotlib python3-pandas, or name a python in $COSCHED_PYTHON";
  } else if (FindTreeFile("plots/plot_all.py").empty()) {
    finding.severity = Severity::kLesser;
    finding.found += ", but no plots/plot_all.py";
    finding.consequence = "runs end with the table, without plots";
    finding.remedy =
        "install it (cmake --install), run it from its build folder, or copy plots/ beside it";
  }
  return finding;
}

Finding Memory() {
  constexpr double kTenantGib = 0.5;  // ResNet-20 at batch 32 takes about a quarter of a GiB.
  std::istringstream lines(ReadText("/proc/meminfo"));
  double available_gib = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("MemAvailable:"))
      available_gib = std::stod(line.substr(13)) / (1024.0 * 1024.0);
  }
  Finding finding = {.what = "memory", .found = fmt::format("{:.1f} GiB available", available_gib)};
  if (available_gib < 4 * kTenantGib) {
    finding.severity = Severity::kLesser;
    finding.consequence =
        "a few tenants at once may be killed for lack of memory; they are recorded as failed";
    finding.remedy = "smaller batches, fewer jobs, or more memory";
  }
  return finding;
}

}  // namespace

std::vector<Finding> FindingsOfMachine() {
  std::vector<Finding> findings;
  try {
    const Topology topology = Topology::ThisMachine();
    findings = {Cores(topology),     {.what = "topology", .found = topology.Summary()},
                CoreKinds(topology), Smt(topology),
                Numa(topology),      Governor(topology),
                Affinity(topology),  MayHaveThreads(topology)};
  } catch (const std::runtime_error& error) {
    findings.push_back(
        {Severity::kMissing, "topology", error.what(), "no experiment can run", "mount /sys"});
  }
  for (const auto& probe :
       {Engine, Kernels, Quota, Realtime, Cgroups, Containers, Pressure, SchedStat, Python, Memory})
    findings.push_back(probe());
  return findings;
}

bool CanRun(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.severity == Severity::kMissing;
  });
}

}  // namespace cosched
