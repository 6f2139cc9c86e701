#pragma once
// The files of the cgroup hierarchies, and the processes in one group: what cgroup.cc and the
// cleaning of groups share. Stateless, so thread-safe.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/os/cgroup.h"

namespace cosched {

inline constexpr const char* kCgroupParent = "cosched";  // All own groups are directly below one.

// One hierarchy that this code may use for a controller.
struct CgroupHierarchy {
  CgroupMounts::Mount mount;
  bool v2 = false;

  std::filesystem::path FolderOf(const std::string& group) const;
  std::string PathOf(const std::filesystem::path& folder) const;
};

std::optional<CgroupHierarchy> FindHierarchy(const CgroupMounts& mounts,
                                             const std::string& controller);
// Version 2 counts pressure with or without controllers.
std::optional<CgroupHierarchy> FindUnified(const CgroupMounts& mounts);

// The group of a process ("self" = this one) in the hierarchy; nullopt if the process is gone.
std::optional<std::string> CgroupPathOf(const std::string& process,
                                        const CgroupHierarchy& hierarchy,
                                        const std::string& controller, const CgroupMounts& mounts);

std::string FirstLineOfCgroup(const std::filesystem::path& file);
// 0, or the error. From the file's start: a kernel file takes one value a write.
int WriteToCgroup(int fd, const std::string& text);
// Throws std::system_error.
void WriteCgroupFile(const std::filesystem::path& file, const std::string& text);

// Removes the folder of a group, waiting (1 s at most) for what has ended in it and may be in the
// kernel's hands for some moments more.
void RemoveCgroupFolder(const std::filesystem::path& folder);

// The same of a group below "cosched", and that one too once it is empty.
void RemoveOwnCgroup(const std::filesystem::path& folder);

// As the kernel tells them. In version 2 a process of another PID namespace reads as 0; version 1
// leaves it out.
std::vector<pid_t> CgroupMembers(const std::filesystem::path& folder);

// Kills what is in a group, and what that forks meanwhile. Each is signalled by a pidfd that was
// opened before a second look at the group, so never one that got its number meanwhile, and never
// one of another PID namespace. True if the group is empty then; false if something has not died
// within the limit, or is of another namespace.
bool KillCgroupMembers(const std::filesystem::path& folder, std::chrono::milliseconds limit);

}  // namespace cosched
