#include "engine/base/topology.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <hwloc/linux.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/core_types.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

// hwloc's bitmap as a value with an owner.
class Bitmap {
 public:
  Bitmap() : bitmap_(hwloc_bitmap_alloc()) { CHECK(bitmap_ != nullptr) << "out of memory"; }
  explicit Bitmap(const CpuSet& cpus) : Bitmap() {
    for (int cpu : cpus) hwloc_bitmap_set(bitmap_, static_cast<unsigned>(cpu));
  }
  ~Bitmap() { hwloc_bitmap_free(bitmap_); }
  Bitmap(const Bitmap&) = delete;
  Bitmap& operator=(const Bitmap&) = delete;
  hwloc_bitmap_t Get() const { return bitmap_; }

 private:
  hwloc_bitmap_t bitmap_;
};

CpuSet ToCpuSet(hwloc_const_bitmap_t bitmap) {
  CpuSet cpus;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0 && cpu <= CpuSet::kMaxCpu;
       cpu = hwloc_bitmap_next(bitmap, cpu)) {
    cpus.Add(cpu);
  }
  return cpus;
}

int Ancestor(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t pu) {
  const hwloc_obj_t object = hwloc_get_ancestor_obj_by_type(topology, type, pu);
  return object == nullptr ? -1 : static_cast<int>(object->logical_index);
}

// A NUMA node is memory beside the tree of cores, so it is nobody's ancestor.
int NumaNode(hwloc_topology_t topology, int cpu) {
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (hwloc_bitmap_isset(node->cpuset, static_cast<unsigned>(cpu))) {
      return static_cast<int>(node->logical_index);
    }
  }
  return -1;
}

// What hwloc takes for a kind of cores, and what of it says how fast they are: not its highest
// frequency, by which hwloc parts them, too. A few cores of a server's CPU may be let go a little
// higher than the others, and some CPUs tell nonsense.
struct KindOfCores {
  CpuSet cpus;
  double capacity = 0;    // The kernel's; 0 = not told.
  std::string type = {};  // "IntelCore" or "IntelAtom"; "" = not told.

  // Later is slower: Core before Atom.
  friend bool operator<(const KindOfCores& a, const KindOfCores& b) {
    return std::tie(b.capacity, b.type) < std::tie(a.capacity, a.type);
  }
  bool IsAsFastAs(const KindOfCores& slower) const {
    constexpr double kUnlike = 1.1;  // Cores of one kind differ by a few percent as well.
    return type == slower.type && capacity <= kUnlike * slower.capacity;
  }
};

std::vector<KindOfCores> KindsThatAreTold(hwloc_topology_t topology) {
  std::vector<KindOfCores> kinds;
  for (int i = 0; i < hwloc_cpukinds_get_nr(topology, 0); ++i) {
    const Bitmap members;
    unsigned count = 0;
    hwloc_info_s* infos = nullptr;
    CHECK(hwloc_cpukinds_get_info(topology, static_cast<unsigned>(i), members.Get(), nullptr,
                                  &count, &infos, 0) == 0);
    KindOfCores kind = {.cpus = ToCpuSet(members.Get())};
    for (const hwloc_info_s& info : std::span(infos, count)) {
      const std::string_view name = info.name, value = info.value;
      if (name == "CoreType" && value.starts_with("Intel")) kind.type = value;
      if (name == "LinuxCapacity") kind.capacity = std::atof(info.value);
    }
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

// Where hwloc does not know them: it must not ask the CPUs themselves (ThisMachine).
void TellCoreTypes(const std::vector<CoreType>& types, hwloc_topology_t topology) {
  for (const KindOfCores& kind : KindsThatAreTold(topology))
    if (!kind.type.empty()) return;
  for (const CoreType& type : types) {
    std::string name = "CoreType", value = type.name;
    hwloc_info_s info = {name.data(), value.data()};
    const Bitmap cpus(type.cpus);
    hwloc_cpukinds_register(topology, cpus.Get(), /*forced_efficiency=*/-1, 1, &info, 0);
  }
}

std::string Counted(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

struct Topology::Impl {
  hwloc_topology_t topology = nullptr;
  std::shared_ptr<hwloc_topology> owner;  // Of the same; several may look at one.
  bool this_system = false;
  CpuSet cpus;
  std::vector<Location> locations;  // By CPU index.
  std::vector<Domain> domains;
  int threads_per_core = 0;
  CpuSet one_thread_per_core;
  std::vector<CpuSet> core_kinds;

  Impl() {
    CHECK(hwloc_topology_init(&topology) == 0) << "hwloc cannot allocate a topology";
    owner.reset(topology, hwloc_topology_destroy);
  }
  Impl(const Impl& whole, CpuSet part)
      : topology(whole.topology),
        owner(whole.owner),
        this_system(whole.this_system),
        cpus(std::move(part)),
        locations(whole.locations) {
    IndexDomains();
    for (const CpuSet& kind : whole.core_kinds)
      if (const CpuSet here = kind & cpus; !here.Empty()) core_kinds.push_back(here);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Once loaded: reads everything that is asked often, so that lookups are plain reads.
  void Index() {
    RefuseCpusBeyondSets();
    this_system = hwloc_topology_is_thissystem(topology) != 0;
    cpus = ToCpuSet(hwloc_topology_get_topology_cpuset(topology));
    for (int cpu : cpus) {
      locations.resize(static_cast<size_t>(cpu) + 1);
      const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(cpu));
      locations.back() = {.core = Ancestor(topology, HWLOC_OBJ_CORE, pu),
                          .l3 = Ancestor(topology, HWLOC_OBJ_L3CACHE, pu),
                          .numa = NumaNode(topology, cpu),
                          .package = Ancestor(topology, HWLOC_OBJ_PACKAGE, pu)};
    }
    IndexDomains();
    IndexKinds();
  }

  // Else they would be left out without a word, and masks that name them could not be read.
  void RefuseCpusBeyondSets() const {
    const int last = hwloc_bitmap_last(hwloc_topology_get_complete_cpuset(topology));
    if (last <= CpuSet::kMaxCpu) return;
    InputErrorDetails details;
    details.key = "topology";
    details.problem = fmt::format("has a CPU {}", last);
    details.allowed = fmt::format("CPUs 0-{}", CpuSet::kMaxCpu);
    throw InputError(std::move(details));
  }

  void IndexDomains() {
    std::map<int, int> threads;  // By core.
    for (const int cpu : cpus) {
      const Location& at = locations[static_cast<size_t>(cpu)];
      const int of_core = at.core == -1 ? 1 : ++threads[at.core];
      if (of_core == 1) one_thread_per_core.Add(cpu);
      threads_per_core = std::max(threads_per_core, of_core);
      const auto same = [&at](const Domain& d) { return d.l3 == at.l3 && d.numa == at.numa; };
      auto domain = std::find_if(domains.begin(), domains.end(), same);
      if (domain == domains.end()) domain = domains.insert(domain, {{}, at.l3, at.numa});
      domain->cpus.Add(cpu);
    }
  }

  void IndexKinds() {
    std::vector<KindOfCores> kinds = KindsThatAreTold(topology);
    for (KindOfCores& kind : kinds) kind.cpus &= cpus;
    std::erase_if(kinds, [](const KindOfCores& kind) { return kind.cpus.Empty(); });
    const auto without_capacity = [](const KindOfCores& kind) { return kind.capacity == 0; };
    if (std::ranges::any_of(kinds, without_capacity))
      for (KindOfCores& kind : kinds) kind.capacity = 0;
    CpuSet unknown = cpus;
    for (const KindOfCores& kind : kinds)
      if (kind.capacity > 0 || !kind.type.empty()) unknown -= kind.cpus;
    if (!unknown.Empty()) kinds = {{.cpus = cpus}};
    std::ranges::sort(kinds, std::less<>());
    for (size_t i = 0, first = 0; i < kinds.size(); ++i) {
      if (i == 0 || !kinds[first].IsAsFastAs(kinds[i])) {
        core_kinds.push_back(kinds[i].cpus);
        first = i;
      } else {
        core_kinds.back() |= kinds[i].cpus;
      }
    }
  }

  int Objects(hwloc_obj_type_t type) const { return hwloc_get_nbobjs_by_type(topology, type); }
};

Topology::Topology(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Topology Topology::ThisMachine() {
  auto impl = std::make_shared<Impl>();
  // Else hwloc asks each CPU itself: it binds the calling thread to one after the other, also to
  // those that are somebody else's, and then back to where it was, which may have changed since.
  hwloc_topology_set_flags(impl->topology, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
  if (hwloc_topology_load(impl->topology) != 0) {
    throw std::runtime_error(
        fmt::format("hwloc cannot read this machine: {}", std::generic_category().message(errno)));
  }
  if (hwloc_topology_is_thissystem(impl->topology)) {
    TellCoreTypes(IntelCoreTypes("/sys/devices"), impl->topology);
    // hwloc leaves out what the cpuset forbids but not what the affinity mask does (taskset): the
    // main thread's mask is both. It fails only where the kernel has no such call; then every CPU
    // counts as allowed.
    const Bitmap allowed;
    if (hwloc_linux_get_tid_cpubind(impl->topology, getpid(), allowed.Get()) == 0) {
      if (hwloc_topology_restrict(impl->topology, allowed.Get(), 0) != 0) {
        throw std::runtime_error(
            fmt::format("hwloc cannot restrict the machine to this process's CPUs: {}",
                        std::generic_category().message(errno)));
      }
    }
  }
  impl->Index();
  return Topology(std::move(impl));
}

Topology Topology::Synthetic(const std::string& description) {
  auto impl = std::make_shared<Impl>();
  if (hwloc_topology_set_synthetic(impl->topology, description.c_str()) != 0 ||
      hwloc_topology_load(impl->topology) != 0) {
    InputErrorDetails details;
    details.key = "topology";
    details.problem = fmt::format("hwloc does not understand \"{}\"", description);
    details.allowed = "levels from the outside in, such as \"pack:2 [numa] l3:4 core:8 pu:2\"";
    throw InputError(std::move(details));
  }
  impl->Index();
  return Topology(std::move(impl));
}

Topology Topology::FromXml(const std::string& file) {
  auto impl = std::make_shared<Impl>();
  if (hwloc_topology_set_xml(impl->topology, file.c_str()) != 0 ||
      hwloc_topology_load(impl->topology) != 0) {
    InputErrorDetails details;
    details.key = "topology";
    details.problem = fmt::format("{} is no topology that hwloc can read", file);
    details.allowed = "an XML file made by `lstopo FILE.xml` (hwloc 2)";
    throw InputError(std::move(details));
  }
  impl->Index();
  return Topology(std::move(impl));
}

Topology Topology::FromXmlText(const std::string& xml) {
  auto impl = std::make_shared<Impl>();
  // With the zero at its end.
  if (hwloc_topology_set_xmlbuffer(impl->topology, xml.c_str(), static_cast<int>(xml.size() + 1)) !=
          0 ||
      hwloc_topology_load(impl->topology) != 0) {
    InputErrorDetails details;
    details.key = "topology_xml";
    details.problem = "is no topology that hwloc can read";
    details.allowed = "a topology as hwloc exports it";
    throw InputError(std::move(details));
  }
  impl->Index();
  return Topology(std::move(impl));
}

bool Topology::IsLike(const Topology& other) const {
  return Cpus() == other.Cpus() && impl_->locations == other.impl_->locations &&
         impl_->core_kinds == other.impl_->core_kinds;
}

bool Topology::IsThisSystem() const { return impl_->this_system; }

const CpuSet& Topology::Cpus() const { return impl_->cpus; }

Topology::Location Topology::Locate(int cpu) const {
  CHECK(impl_->cpus.Contains(cpu)) << "CPU " << cpu << " is not in " << impl_->cpus.ToString();
  return impl_->locations[static_cast<size_t>(cpu)];
}

std::span<const Topology::Domain> Topology::Domains() const { return impl_->domains; }

int Topology::ThreadsPerCore() const { return impl_->threads_per_core; }

const CpuSet& Topology::OneThreadPerCore() const { return impl_->one_thread_per_core; }

std::span<const CpuSet> Topology::CoreKinds() const { return impl_->core_kinds; }

CpuSet Topology::SiblingsOf(const CpuSet& cpus) const {
  CpuSet siblings;
  if (!HasSiblings()) return siblings;
  std::set<int> cores;
  for (const int cpu : cpus) cores.insert(Locate(cpu).core);
  cores.erase(-1);
  for (const int cpu : impl_->cpus - cpus)
    if (cores.contains(Locate(cpu).core)) siblings.Add(cpu);
  return siblings;
}

Topology Topology::Within(const CpuSet& cpus) const {
  CHECK(impl_->cpus.Contains(cpus))
      << "CPUs " << cpus.ToString() << " of " << impl_->cpus.ToString();
  return cpus == impl_->cpus ? *this : Topology(std::make_shared<const Impl>(*impl_, cpus));
}

bool Topology::BindThread(pid_t tid, const CpuSet& cpus) const {
  if (!impl_->this_system) {
    errno = ENOSYS;
    return false;
  }
  const Bitmap bitmap(cpus);
  return hwloc_linux_set_tid_cpubind(impl_->topology, tid, bitmap.Get()) == 0;
}

// Not through hwloc, which cuts the answer off at the last CPU that this process had when the
// topology was loaded: a tenant that has grown since would not see its new cores.
CpuSet Topology::ThreadBinding(pid_t tid) const {
  if (!impl_->this_system) return {};
  constexpr size_t kWords = (CpuSet::kMaxCpu + 1) / (8 * sizeof(uint64_t));
  alignas(cpu_set_t) uint64_t words[kWords] = {};
  if (sched_getaffinity(tid, sizeof words, reinterpret_cast<cpu_set_t*>(words)) != 0) return {};
  CpuSet cpus;
  for (size_t i = 0; i < kWords; ++i) {
    for (uint64_t word = words[i]; word != 0; word &= word - 1) {
      cpus.Add(static_cast<int>(i) * 64 + std::countr_zero(word));
    }
  }
  return cpus;
}

std::string Topology::Xml() const {
  char* buffer = nullptr;
  int length = 0;
  if (hwloc_topology_export_xmlbuffer(impl_->topology, &buffer, &length, 0) != 0) {
    throw std::runtime_error(fmt::format("hwloc cannot export the topology: {}",
                                         std::generic_category().message(errno)));
  }
  std::string xml(buffer);
  hwloc_free_xmlbuffer(impl_->topology, buffer);
  return xml;
}

std::string Topology::Summary() const {
  return fmt::format(
      "{}, {}, {} L3, {}, {}", Counted(impl_->Objects(HWLOC_OBJ_PACKAGE), "package"),
      Counted(impl_->Objects(HWLOC_OBJ_NUMANODE), "NUMA node"), impl_->Objects(HWLOC_OBJ_L3CACHE),
      Counted(impl_->Objects(HWLOC_OBJ_CORE), "core"), Counted(impl_->cpus.Count(), "CPU"));
}

}  // namespace cosched
