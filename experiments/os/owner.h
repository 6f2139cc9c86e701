#pragma once
// Whose a cgroup, a container, a folder or a process is: all of them outlive their host if that is
// killed, and who cleans up later must tell those of a host that is gone from those of one that
// runs, perhaps in another container of this machine. A name therefore says which process it was
// (number and start time, because numbers are given again), in which PID namespace, since which
// boot, and whose. Stateless.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cosched {

// This process's name: "<pid>.<start in kernel ticks>.<boot>.<PID namespace>.<user>"; no "-" is in
// it. Boot is 8 hexadecimal digits, all else are decimal numbers.
std::string OwnerName();
// Also that of an older version: "<pid>.<start time>".
bool IsOwnerName(std::string_view name);

std::string PidNamespaceHere();  // The number as in OwnerName(); "0" if there is no /proc.

enum class OwnerState {
  kLives,
  kGone,
  kElsewhere,  // In a PID namespace that can't be looked into from here.
  kUnknown,    // The name is an older version's, which does not say enough.
};
OwnerState StateOfOwner(std::string_view name);  // REQUIRES: IsOwnerName(name).
// Why a cleaning leaves what belongs to such an owner: "" if it is gone.
std::string WhyLeft(OwnerState state);
// Who ran it; nullopt in an older version's name.
std::optional<uid_t> UserOfOwner(std::string_view name);

// What a cleaning did. What runs is not told of.
struct Cleaned {
  std::vector<std::string> removed;
  std::vector<std::string> left;  // "<what>: <why>"

  void Add(Cleaned other);
};

}  // namespace cosched
