#pragma once
// Where on this machine a host may make the groups of its tenants, told without writing anything,
// and making them there. Called by cgroup.cc only. Stateless; not thread-safe towards this
// process's own moves.
//
// Version 2 gives controllers only to children of a group that holds no process itself, and systemd
// allows others to make groups only where it has delegated that. So a host in a group that is
// delegated to it first moves what is in there, itself included, to the group's child "harness";
// any other host's groups are made directly below the hierarchy's root, which only root may do.

#include <filesystem>
#include <optional>
#include <string>

#include "experiments/os/cgroup.h"
#include "experiments/os/cgroup_hierarchy.h"

namespace cosched {

inline constexpr const char* kCgroupHarness = "harness";

struct CgroupSite {
  std::filesystem::path base;  // Groups are "<base>/cosched/<name>".
  bool delegated = false;      // Version 2: the base is ours, with all processes in it.
};

// Not both: why there is none, and what to do about it. "" = nothing to be said.
struct CgroupSiteSearch {
  std::optional<CgroupSite> site;
  std::string why_not;
  std::string remedy;  // Also where there is a site, but a better one could be had.
};

// controller "" = none is needed, only what the kernel counts for any group of version 2.
CgroupSiteSearch FindCgroupSite(const CgroupHierarchy& hierarchy, const std::string& controller,
                                const CgroupMounts& mounts);

// The folder of the new group. Throws std::system_error.
std::filesystem::path MakeCgroup(const CgroupHierarchy& hierarchy, const std::string& controller,
                                 const std::string& name, const CgroupMounts& mounts);

}  // namespace cosched
