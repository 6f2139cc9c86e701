#pragma once
// The machine's cores, caches and NUMA nodes. The only place that sees hwloc. Immutable after
// creation, so thread-safe; cheap to copy (shared). A synthetic topology lets every layer above be
// tested on machines that are not here: binding is then refused, because hwloc would silently do
// nothing (reference: hwloc_topology_is_thissystem).

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "engine/base/cpu_set.h"

namespace cosched {

class Topology {
 public:
  // The CPUs this process may use now. Throws std::runtime_error if hwloc can't read the machine.
  static Topology ThisMachine();
  // hwloc's synthetic description, e.g. "pack:2 [numa] l3:4 core:8 pu:2". Throws InputError if
  // malformed.
  static Topology Synthetic(const std::string& description);
  // Another machine's, as hwloc exported it (`lstopo FILE.xml`, or Xml()). Throws InputError.
  static Topology FromXml(const std::string& file);
  // What Xml() returned, on whichever machine. Throws InputError.
  static Topology FromXmlText(const std::string& xml);

  bool IsThisSystem() const;
  const CpuSet& Cpus() const;

  // Logical indexes of what holds the CPU; -1 where the machine has no such level. REQUIRES:
  // Cpus().Contains(cpu).
  struct Location {
    int core = -1;
    int l3 = -1;
    int numa = -1;
    int package = -1;
    friend bool operator==(const Location&, const Location&) = default;
  };
  Location Locate(int cpu) const;
  // The CPUs by what they share, in order of their lowest CPU. Together all of Cpus().
  struct Domain {
    CpuSet cpus;
    int l3 = -1;
    int numa = -1;
  };
  std::span<const Domain> Domains() const;  // By L3 and NUMA node.
  // The same CPUs, by number, that share the same with each other and are as fast.
  bool IsLike(const Topology& other) const;
  // CPUs (hardware threads) of the core that has most of them. Where nothing is known of cores, each
  // CPU is one.
  int ThreadsPerCore() const;
  bool HasSiblings() const { return ThreadsPerCore() > 1; }
  const CpuSet& OneThreadPerCore() const;  // The lowest CPU of each core.
  // The CPUs that share a core with one of these and are not among them. REQUIRES:
  // Cpus().Contains(cpus).
  CpuSet SiblingsOf(const CpuSet& cpus) const;
  // The CPUs by how fast their cores are, the fastest first: a laptop's performance and efficiency
  // cores, as the CPU names them or by the kernel's capacities. One set, all of Cpus(), where cores
  // are alike or neither tells.
  std::span<const CpuSet> CoreKinds() const;
  // The machine as if it had these CPUs only; where they are, Xml and Summary stay as they were.
  // REQUIRES: Cpus().Contains(cpus).
  Topology Within(const CpuSet& cpus) const;

  // Binds one thread (a kernel tid; 0 = the calling thread). False on a synthetic topology or if
  // the kernel refuses (errno is kept), e.g. EINVAL for CPUs outside the process's cpuset.
  bool BindThread(pid_t tid, const CpuSet& cpus) const;
  // What the kernel says the thread may run on now; empty if the thread is gone.
  CpuSet ThreadBinding(pid_t tid) const;

  std::string Xml() const;      // For manifest.json.
  std::string Summary() const;  // One line: "1 package, 1 NUMA node, 1 L3, 2 cores, 2 CPUs".

 private:
  struct Impl;
  explicit Topology(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace cosched
