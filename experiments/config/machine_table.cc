#include "experiments/config/machine_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/numa.h"
#include "engine/kernels/kept_kernel_rates.h"
#include "experiments/config/file_hash.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/not_here_error.h"
#include "policies/placement.h"

namespace cosched {
namespace {

using MachineKey = SectionKey<ExperimentConfig>;
constexpr int kLongestDeadlineMilliseconds = 60'000;
constexpr double kShortestTimeoutSeconds = 0.1, kLongestTimeoutSeconds = 3600;
constexpr int kLongestQuotaPeriodMilliseconds = 1000;  // The kernel's.

constexpr const char* kSmt = "smt";
constexpr const char* kSmtCores = "cores";
constexpr const char* kSmtThreads = "threads";

// CPUs of which each may be a core of an experiment.
CpuSet Offered(const Topology& topology, bool threads_are_cores) {
  return threads_are_cores ? topology.Cpus() : topology.OneThreadPerCore();
}

std::string UnlessThreads(const std::string& allowed) {
  return fmt::format("{}, or machine.{} = \"{}\": each hardware thread is a core then", allowed,
                     kSmt, kSmtThreads);
}

CpuSet CountedCores(const TomlTable& machine, const Topology& topology, bool threads_are_cores) {
  const CpuSet offered = Offered(topology, threads_are_cores);
  const int most = topology.Cpus().Count();
  const int64_t count = machine.Integer("cores", {}, std::numeric_limits<int64_t>::min(),
                                        std::numeric_limits<int64_t>::max());
  const std::string allowed = fmt::format("an integer from 1 to {}", most);
  if (count < 1) machine.Fail("cores", fmt::format("is {}", count), allowed);
  if (count > most)
    FailOfMachine(topology.IsThisSystem(), machine, "cores", fmt::format("is {}", count), allowed);
  if (count > offered.Count()) {
    FailOfMachine(topology.IsThisSystem(), machine, "cores",
                  fmt::format("is {}, but the {} CPUs are hardware threads of {} cores", count,
                              most, offered.Count()),
                  UnlessThreads(fmt::format("1 to {}", offered.Count())));
  }
  CpuSet faster, enough;  // Of slower kinds only what the faster ones lack.
  for (const CpuSet& kind : topology.CoreKinds()) {
    faster = enough;
    enough |= kind & offered;
    if (enough.Count() >= count) break;
  }
  return PlaceCores(topology.Within(enough), faster, enough, static_cast<int>(count));
}

// A list is taken as it is; that two of its CPUs are one core must be what is wanted.
void CheckListedThreads(const TomlTable& machine, const Topology& topology, const CpuSet& listed) {
  const Topology part = topology.Within(listed);
  if (!part.HasSiblings()) return;
  const int second = (listed - part.OneThreadPerCore()).First();
  CpuSet core = part.SiblingsOf({second});
  core.Add(second);
  FailOfMachine(topology.IsThisSystem(), machine, "cores",
                fmt::format("is \"{}\", of which {} are hardware threads of one core",
                            listed.ToString(), core.ToString()),
                UnlessThreads(fmt::format("one thread of each core, such as \"{}\"",
                                          part.OneThreadPerCore().ToString())));
}

CpuSet ReadCores(const TomlTable& machine, const Topology& topology, bool threads_are_cores) {
  if (machine.IsInteger("cores")) return CountedCores(machine, topology, threads_are_cores);
  const std::string text = machine.String("cores", "all");
  if (text == "all") return Offered(topology, threads_are_cores);
  const std::string here =
      fmt::format("\"all\", or cores of this machine: {}", topology.Cpus().ToString());
  const std::optional<CpuSet> cores = CpuSet::Parse(text);
  if (!cores || cores->Empty()) machine.Fail("cores", fmt::format("is \"{}\"", text), here);
  if (!topology.Cpus().Contains(*cores)) {
    FailOfMachine(topology.IsThisSystem(), machine, "cores",
                  fmt::format("is \"{}\", but {} is not there, or not ours to use", text,
                              (*cores - topology.Cpus()).ToString()),
                  here);
  }
  if (!threads_are_cores) CheckListedThreads(machine, topology, *cores);
  return *cores;
}

Actuator ReadActuator(const TomlTable& machine, const Topology& topology, Backend backend) {
  if (backend == Backend::kContainer) {
    const std::string text = machine.String("actuator", "cpuset");
    if (text != "cpuset" && text != "quota") {
      machine.Fail("actuator", fmt::format("is \"{}\"", text),
                   "cpuset, quota with backend = \"container\"");
    }
    return *ParseActuator(text);
  }
  if (!machine.Has("actuator") && !topology.IsThisSystem()) return Actuator::kAffinity;
  if (!machine.Has("actuator")) return BestActuator();
  const std::string text = machine.String("actuator");
  const std::optional<Actuator> actuator = ParseActuator(text);
  if (!actuator)
    machine.Fail("actuator", fmt::format("is \"{}\"", text), "cpuset, quota, affinity");
  // Simulated, nothing is moved by it; on another machine, that one's rights count.
  if (backend == Backend::kSimulated || !topology.IsThisSystem()) return *actuator;
  if (const std::string why_not = WhyNot(*actuator); !why_not.empty()) {
    FailHere(machine, "actuator",
             fmt::format("is \"{}\", which is not permitted here: {}", text, why_not),
             "affinity, or what `cosched doctor` names as the remedy");
  }
  return *actuator;
}

MemoryMode ReadMemory(const TomlTable& machine, const ExperimentConfig& config) {
  const std::string text = machine.String("memory", std::string(ToString(MemoryMode::kFollow)));
  const std::optional<MemoryMode> mode = ParseMemoryMode(text);
  if (!mode) machine.Fail("memory", fmt::format("is \"{}\"", text), "follow, bind, stay");
  const bool has_groups =
      config.backend == Backend::kSimulated || config.actuator != Actuator::kAffinity;
  if (mode == MemoryMode::kBind && !has_groups) {
    machine.Fail("memory", "is \"bind\", which takes a cgroup for each tenant",
                 "follow, stay, or an actuator other than affinity");
  }
  return *mode;
}

bool HasSeveralNodes(const ExperimentConfig& config) {
  return NumaMap::Of(*config.topology).NodesOf(config.cores).Count() > 1;
}

void ReadKernelRates(const TomlTable& machine, ExperimentConfig* config) {
  const std::string text = machine.String("kernel_rates", kMeasuredRates);
  const bool by_machine = text == kMeasuredRates || text == kKeptRates;
  if (config->backend == Backend::kSimulated && by_machine) return;  // Nothing is computed.
  if (text == kKeptRates) {
    const std::optional<KeptKernelRates> kept = KernelRatesKeptHere();
    config->lacks_kernel_rates = !kept.has_value();
    if (kept) config->kernel_rates = kept->rates;
    return;
  }
  const std::optional<KernelRates> rates = ChosenKernelRates(text);
  if (!rates) machine.Fail("kernel_rates", fmt::format("is \"{}\"", text), kAllowedRates);
  config->kernel_rates = *rates;
}

std::optional<ProfileConfig> ReadProfile(const TomlTable& machine, const ExperimentConfig& config) {
  if (!machine.Has("profile")) {
    if (config.backend == Backend::kSimulated) {
      machine.Fail("profile", "is required with backend = \"simulated\"",
                   "a profile made by `cosched calibrate`");
    }
    return std::nullopt;
  }
  ProfileConfig read{.file = machine.PathOf("profile").lexically_normal(),
                     .hash = {},
                     .profile = {},
                     .speeds = {}};
  read.profile = machine.OfFile(
      "profile", [&read] { return std::make_shared<const Profile>(LoadProfile(read.file)); });
  read.hash = FileHash(read.file);
  read.speeds = std::make_shared<const SpeedCurves>(read.profile, config.cores.Count());
  return read;
}

// The simulated machine where one is named, else this one.
Topology SimulatedOr(const TomlTable& machine, Backend backend, const Topology& here) {
  if (!machine.Has("topology")) return here;
  const std::string text = machine.String("topology");
  if (backend != Backend::kSimulated) {
    machine.Fail("topology", fmt::format("is \"{}\"", text),
                 "only with backend = \"simulated\"; tenants run on this machine");
  }
  try {
    return text.ends_with(".xml") ? Topology::FromXml(machine.Folder() / text)
                                  : Topology::Synthetic(text);
  } catch (const InputError& error) {
    machine.Fail("topology", error.details().problem,
                 error.details().allowed + ", or an .xml file of hwloc's");
  }
}

using C = ExperimentConfig;

nlohmann::ordered_json OrNull(const std::string& text) {
  if (text.empty()) return {};
  return text;
}

bool ReadSmt(const TomlTable& machine) {
  return machine.Has(kSmt) && machine.Word(kSmt, {kSmtCores, kSmtThreads}) == 1;
}

MachineKey SmtKey() {
  return MachineKey::Read(
      {.name = kSmt,
       .type = "word",
       .fallback = fmt::format("\"{}\"", kSmtCores),
       .range = fmt::format("{}, {}", kSmtCores, kSmtThreads),
       .meaning = "what a core is: a physical one, of which one hardware thread is used, or each "
                  "hardware thread"},
      [](const MachineKey&, const TomlTable& machine, C* config) {
        config->threads_are_cores = ReadSmt(machine);
      },
      [](const C& config) { return config.threads_are_cores ? kSmtThreads : kSmtCores; });
}

std::vector<MachineKey> CoreKeys() {
  return {MachineKey::Read(
              {.name = "topology",
               .type = "text",
               .fallback = "this machine",
               .range = "hwloc's synthetic description, or an .xml file of hwloc's",
               .meaning = "the machine to simulate"},
              [](const MachineKey& key, const TomlTable& machine, C* config) {
                config->topology = SimulatedOr(machine, config->backend, *config->topology);
                config->machine = machine.String(key.help.name, "");
              },
              [](const C& config) { return config.machine; })
              .NotInManifest(),
          SmtKey(),
          MachineKey::Read(
              {.name = "cores",
               .type = "text, integer",
               .fallback = "\"all\"",
               .range = "\"all\", a list such as \"0-3,8\", or how many",
               .meaning = "of the experiment; a number takes cores close together, the fastest "
                          "kind first"},
              [](const MachineKey&, const TomlTable& machine, C* config) {
                config->cores = ReadCores(machine, *config->topology, config->threads_are_cores);
              },
              [](const C& config) { return config.cores.ToString(); }),
          MachineKey::Recorded("hardware_threads",
                               [](const C& c) { return OrNull(HardwareThreadsText(c)); })
              .OmittedWhereAbsent(),
          MachineKey::Recorded("core_kinds",
                               [](const C& c) { return OrNull(CoreKindsText(TenantsMachine(c))); })
              .OmittedWhereAbsent(),
          MachineKey::Read(
              {.name = "actuator",
               .type = "word",
               .fallback = "cpuset, else affinity",
               .range = "cpuset, quota, affinity",
               .meaning = "how a tenant is moved; default: the first permitted here"},
              [](const MachineKey&, const TomlTable& machine, C* config) {
                config->actuator = ReadActuator(machine, *config->topology, config->backend);
              },
              [](const C& config) { return ToString(config.actuator); }),
          MachineKey::Read(
              {.name = "memory",
               .type = "word",
               .fallback = "\"follow\"",
               .range = "follow, bind, stay",
               .meaning = "a tenant's, when its cores are on other NUMA nodes than before; bind: "
                          "also, it gets none elsewhere"},
              [](const MachineKey&, const TomlTable& machine, C* config) {
                config->memory = ReadMemory(machine, *config);
              },
              [](const C& config) -> nlohmann::ordered_json {
                if (!HasSeveralNodes(config)) return {};
                return ToString(config.memory);
              })
              .OmittedWhereAbsent()};
}

std::vector<MachineKey> TenantKeys() {
  return {
      MachineKey::Integer(
          "revocation_deadline_ms", Inside(&C::timeouts, &TenantTimeouts::revocation), 1,
          kLongestDeadlineMilliseconds, "a tenant that has not left its cores by then is killed",
          std::chrono::milliseconds(1)),
      MachineKey::Time("start_timeout_s", Inside(&C::timeouts, &TenantTimeouts::start), 1,
                       kShortestTimeoutSeconds, kLongestTimeoutSeconds,
                       "so is one that is not ready by then, with its model built; not simulated"),
      MachineKey::Time("settle_timeout_s", Inside(&C::timeouts, &TenantTimeouts::settle), 1,
                       kShortestTimeoutSeconds, kLongestTimeoutSeconds,
                       "so is one whose grant has no effect by then; not simulated"),
      MachineKey::Time(
          "heartbeat_timeout_s", Inside(&C::timeouts, &TenantTimeouts::heartbeat), 1,
          kShortestTimeoutSeconds, kLongestTimeoutSeconds,
          "so is one that has given no sign of life, or not computed, for so long; not "
          "simulated"),
      MachineKey::Integer("nodes", &C::nodes, 1, CpuSet::kMaxCpu,
                          "equal parts of the cores, within which shares are granted"),
      MachineKey::Integer("quota_period_ms", &C::quota_period, 1, kLongestQuotaPeriodMilliseconds,
                          "in which a tenant's share of its cores is counted out anew",
                          std::chrono::milliseconds(1)),
      MachineKey::Read(
          {.name = "kernel_rates",
           .type = "text",
           .fallback = kMeasuredRates,
           .range = "measured, fixed, or all values as manifest.json has them",
           .meaning = "the rates by which kernels are chosen; not simulated"},
          [](const MachineKey&, const TomlTable& machine, C* config) {
            ReadKernelRates(machine, config);
          },
          [](const C& config) -> nlohmann::ordered_json {
            if (config.backend == Backend::kSimulated) return {};
            if (config.lacks_kernel_rates) return kMeasuredRates;
            return ToString(config.kernel_rates);
          })
          .OmittedWhereAbsent(),
      MachineKey::Read(
          {.name = "profile",
           .type = "text",
           .fallback = "none; required to simulate",
           .range = "a file made by `cosched calibrate`",
           .meaning = "what was measured of the programs"},
          [](const MachineKey&, const TomlTable& machine, C* config) {
            config->profile = ReadProfile(machine, *config);
          },
          [](const C& config) { return config.profile ? config.profile->file.string() : ""; })
          .NotInManifest()};
}

}  // namespace

const Section<ExperimentConfig>& MachineSection() {
  static const Section<ExperimentConfig> section("[machine]", "where tenants run",
                                                 Joined({CoreKeys(), TenantKeys()}));
  return section;
}

int CoresOffered(const TomlTable& root, const Topology& here) {
  const std::optional<Backend> backend = ParseBackend(root.String("backend", "hardware"));
  const TomlTable machine = root.Table("machine");
  return Offered(SimulatedOr(machine, backend.value_or(Backend::kHardware), here), ReadSmt(machine))
      .Count();
}

Topology TenantsMachine(const ExperimentConfig& config) {
  return config.topology->Within(config.cores);
}

std::string HardwareThreadsText(const ExperimentConfig& config) {
  const int cores = config.cores.Count();
  const int threads = cores + config.topology->SiblingsOf(config.cores).Count();
  const int physical = TenantsMachine(config).OneThreadPerCore().Count();
  if (threads == physical) return "";
  if (cores == physical) return fmt::format("{} cores ({} threads, one a core)", cores, threads);
  return fmt::format("{} threads of {} cores, each taken for a core", cores, physical);
}

std::string CoreKindsText(const Topology& cores) {
  const std::span<const CpuSet> kinds = cores.CoreKinds();
  if (kinds.size() < 2) return "";
  std::vector<std::string> texts;
  for (const CpuSet& kind : kinds) texts.push_back(kind.ToString());
  return fmt::format("cores of {} kinds: {}", kinds.size(), fmt::join(texts, ", slower "));
}

}  // namespace cosched
