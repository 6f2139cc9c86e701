// Removes groups whose owner is gone (cgroup.h): Cgroup::Clean and Cgroup::RemoveOf.

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "experiments/os/cgroup.h"
#include "experiments/os/cgroup_hierarchy.h"
#include "experiments/os/owner.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kMemberDeathTimeout{10};

// Each once: in version 2 all controllers are in one.
std::vector<CgroupHierarchy> Hierarchies(const CgroupMounts& mounts) {
  std::vector<CgroupHierarchy> hierarchies;
  const auto add = [&hierarchies](const std::optional<CgroupHierarchy>& found) {
    const auto same = [&found](const auto& known) {
      return known.mount.point == found->mount.point;
    };
    if (found && std::none_of(hierarchies.begin(), hierarchies.end(), same)) {
      hierarchies.push_back(*found);
    }
  };
  for (const char* controller : {"cpuset", "cpu"}) add(FindHierarchy(mounts, controller));
  add(FindUnified(mounts));
  return hierarchies;
}

// "" if its folder is not called "<owner>-…".
std::string OwnerOf(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const size_t dash = name.find('-');
  if (dash == std::string::npos || folder.parent_path().filename() != kCgroupParent) return "";
  const std::string owner = name.substr(0, dash);
  return IsOwnerName(owner) ? owner : "";
}

// Groups of a hierarchy, with their owners; those inside others first.
std::vector<std::pair<fs::path, std::string>> OwnedGroups(const CgroupHierarchy& hierarchy) {
  std::vector<std::pair<fs::path, std::string>> found;
  // Folder by folder: one that is removed meanwhile must not end the walk through the others.
  std::vector<fs::path> folders = {hierarchy.mount.point};
  while (!folders.empty()) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    std::error_code error, ignored;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->is_symlink(ignored) || !entry->is_directory(ignored)) continue;
      folders.push_back(entry->path());
      if (std::string owner = OwnerOf(entry->path()); !owner.empty()) {
        found.emplace_back(entry->path(), std::move(owner));
      }
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

// The real user of a process; nullopt if it is gone. Not the owner of its folder in /proc: that is
// root for a process with capabilities.
std::optional<uid_t> UserOfProcess(pid_t process, const CgroupMounts& mounts) {
  std::ifstream status(mounts.proc / std::to_string(process) / "status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("Uid:")) continue;
    std::istringstream words(line.substr(4));
    uid_t user = 0;
    if (words >> user) return user;
  }
  return std::nullopt;
}

// Why nothing in a group may be signalled, or "".
std::string Strangers(const fs::path& folder, const std::string& owner,
                      const CgroupMounts& mounts) {
  const std::optional<uid_t> user = UserOfOwner(owner);
  for (const pid_t process : CgroupMembers(folder)) {
    if (process <= 0) return "holds processes of another PID namespace";
    const std::optional<uid_t> theirs = UserOfProcess(process, mounts);
    if (theirs && user && *theirs != *user) {
      return "holds process " + std::to_string(process) + " of user " + std::to_string(*theirs) +
             ", not of its owner's user " + std::to_string(*user);
    }
  }
  return "";
}

// "" if it is gone, else why not.
std::string Remove(const fs::path& folder, const std::string& owner, const CgroupMounts& mounts) {
  if (std::string why = Strangers(folder, owner, mounts); !why.empty()) return why;
  if (!KillCgroupMembers(folder, kMemberDeathTimeout)) return "something in it does not die";
  // What a host that ran inside it has left: goes only if it is empty.
  rmdir((folder / kCgroupParent).c_str());
  std::error_code error;
  if (fs::exists(folder / kCgroupParent, error)) return "holds groups of others";
  RemoveOwnCgroup(folder);
  return fs::exists(folder, error) ? "the kernel does not let it go" : "";
}

}  // namespace

Cleaned Cgroup::Clean(const CgroupMounts& mounts) {
  Cleaned cleaned;
  for (const CgroupHierarchy& hierarchy : Hierarchies(mounts)) {
    for (const auto& [folder, owner] : OwnedGroups(hierarchy)) {
      const OwnerState state = StateOfOwner(owner);
      if (state == OwnerState::kLives) continue;
      std::string why = WhyLeft(state);
      if (why.empty()) why = Remove(folder, owner, mounts);
      if (why.empty()) {
        cleaned.removed.push_back(folder.string());
      } else {
        cleaned.left.push_back(folder.string() + ": " + why);
      }
    }
  }
  return cleaned;
}

void Cgroup::RemoveOf(const std::string& owner, const CgroupMounts& mounts) {
  for (const CgroupHierarchy& hierarchy : Hierarchies(mounts)) {
    for (const auto& [folder, whose] : OwnedGroups(hierarchy)) {
      if (whose == owner) Remove(folder, owner, mounts);
    }
  }
}

}  // namespace cosched
