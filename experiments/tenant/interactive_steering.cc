#include "experiments/tenant/interactive_steering.h"

#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "experiments/os/thread_affinity.h"
#include "experiments/wire/control_socket.h"

namespace cosched {

void ConfineToCores(const CpuSet& cores, const Topology& topology) {
  if (ConfineThreads(getpid(), cores, topology) == Confinement::kDone) return;
  throw InputError({"command line", 0, "--cores",
                    "the kernel does not allow cores " + cores.ToString(),
                    "cores within " + topology.Cpus().ToString()});
}

ControlThreadOptions SteeredThrough(const std::string& control, FollowRule follow,
                                    const CpuSet& cores) {
  ControlThreadOptions options;
  options.cores = cores;
  options.follow = follow;
  options.control = control.empty() ? DefaultControlPath() : control;
  options.needs_control = !control.empty();
  return options;
}

std::string SteeringHint(const std::string& control) {
  return fmt::format("steer it with: cosched ctl {} status|set cores=…|pause|resume|stop",
                     control.empty() ? std::to_string(getpid()) : control);
}

SessionOptions SteeredSession(Split threads, FollowRule follow, const Topology& topology) {
  SessionOptions session;
  session.inter_op_parallelism_threads = threads.inter;
  session.intra_op_parallelism_threads = threads.intra;
  // Bound ones would stay where the kernel moves them when their cores are taken away.
  const bool bound = follow != FollowRule::kKeep;
  session.binding = bound ? ThreadPools::Binding::kEachToItsCore : ThreadPools::Binding::kNone;
  session.topology = &topology;
  return session;
}

}  // namespace cosched
