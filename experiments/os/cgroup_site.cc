#include "experiments/os/cgroup_site.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <sstream>
#include <system_error>

#include "engine/base/file_bytes.h"
#include "experiments/os/run_program.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

bool MayWrite(const fs::path& path) {
  const int wanted = fs::is_directory(path) ? W_OK | X_OK : W_OK;
  return faccessat(AT_FDCWD, path.c_str(), wanted, AT_EACCESS) == 0;
}

bool NamesController(const fs::path& file, const std::string& controller) {
  std::istringstream words(FileBytes(file));
  for (std::string word; words >> word;)
    if (word == controller) return true;
  return false;
}

// The folder of this process's group; the top where that is outside of what is mounted here.
fs::path OwnFolder(const CgroupHierarchy& hierarchy, const std::string& controller,
                   const CgroupMounts& mounts) {
  const fs::path& top = hierarchy.mount.point;
  const std::string own = CgroupPathOf("self", hierarchy, controller, mounts).value_or("/");
  const fs::path folder = hierarchy.FolderOf(own).lexically_normal();
  const fs::path below = folder.lexically_relative(top);
  return below.empty() || *below.begin() == ".." || below == "." ? top : folder;
}

// The mark of the system's systemd on what it leaves to others; that of version 251 and later can be
// read without being root.
bool IsMarkedDelegated(const fs::path& folder) {
  for (const char* name : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (getxattr(folder.c_str(), name, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

// A user's own systemd leaves no such mark before version 254, but it can be asked.
bool UserManagerDelegates(const fs::path& folder) {
  const std::string manager = "/user@" + std::to_string(geteuid()) + ".service/";
  if (folder.string().find(manager) == std::string::npos) return false;
  const char* const ask =
      "test \"$(systemctl --user show --property=Delegate --value -- \"$0\")\" = yes";
  return RunProgram({"/bin/sh", "-c", ask, folder.filename().string()}, /*quiet=*/true) == 0;
}

// Only the machine's root group has no type. That of a container is all that the container has.
bool IsMachinesRoot(const fs::path& folder) { return !fs::exists(folder / "cgroup.type"); }

// Whether the processes in a group of version 2 may be moved by us.
bool IsDelegated(const fs::path& folder, const fs::path& top, const CgroupMounts& mounts) {
  if (IsMachinesRoot(folder) || FirstLineOfCgroup(folder / "cgroup.type") != "domain") return false;
  if (folder == top || IsMarkedDelegated(folder)) return true;
  if (fs::exists(mounts.systemd)) return UserManagerDelegates(folder);
  struct stat status {};
  return geteuid() != 0 && stat(folder.c_str(), &status) == 0 && status.st_uid == geteuid();
}

bool MayDivide(const fs::path& folder) {
  return MayWrite(folder) && MayWrite(folder / "cgroup.procs") &&
         MayWrite(folder / "cgroup.subtree_control");
}

// Whether the top of the hierarchy has the controller for its children, or can be made to have it.
bool TopGives(const fs::path& top, const std::string& controller) {
  if (!MayWrite(top)) return false;
  if (NamesController(top / "cgroup.subtree_control", controller)) return true;
  return MayWrite(top / "cgroup.subtree_control") &&
         (IsMachinesRoot(top) || CgroupMembers(top).empty());
}

// What whoever is not root needs to get a group that is delegated, with the controller.
std::string DelegationRemedy(const fs::path& top, const std::string& controller,
                             const CgroupMounts& mounts) {
  if (!fs::exists(mounts.systemd)) {
    return "run as root; a container or a batch job needs a writable cgroup of its own";
  }
  const std::string user = std::to_string(geteuid());
  const fs::path manager =
      top / "user.slice" / ("user-" + user + ".slice") / ("user@" + user + ".service");
  std::string remedy = "start it by  systemd-run --user --scope -p Delegate=yes COMMAND";
  if (!NamesController(manager / "cgroup.controllers", controller)) {
    remedy += fmt::format(
        ", after root has once let users have the controller: the lines \"[Service]\" and "
        "\"Delegate=cpu cpuset memory pids\" in /etc/systemd/system/user@.service.d/cosched.conf, "
        "then  systemctl daemon-reload; systemctl restart user@{}",
        user);
  }
  return remedy;
}

CgroupSiteSearch FindInVersion2(const CgroupHierarchy& hierarchy, const std::string& controller,
                                const CgroupMounts& mounts) {
  const fs::path& top = hierarchy.mount.point;
  fs::path own = OwnFolder(hierarchy, controller, mounts);
  const bool in_harness = own != top && own.filename() == kCgroupHarness;
  if (in_harness) own = own.parent_path();
  const bool divided = in_harness && !FirstLineOfCgroup(own / "cgroup.subtree_control").empty();
  const bool delegated = divided || IsDelegated(own, top, mounts);
  if (delegated && MayDivide(own) && NamesController(own / "cgroup.controllers", controller)) {
    return {CgroupSite{own, true}, "", ""};
  }
  if (TopGives(top, controller)) {
    CgroupSiteSearch found{CgroupSite{top, false}, "", ""};
    if (own != top && fs::exists(mounts.systemd)) {
      found.remedy =
          "to keep tenants in a slice of systemd's with its limits, start it by  systemd-run "
          "--scope -p Delegate=yes COMMAND";
    }
    return found;
  }
  const std::string group = hierarchy.PathOf(own);
  const std::string why_not =
      !delegated        ? fmt::format("the group {} is not delegated to this user", group)
      : !MayDivide(own) ? fmt::format("the group {} can't be written to", group)
                        : fmt::format("the group {} has no {} controller", group, controller);
  return {std::nullopt, why_not, DelegationRemedy(top, controller, mounts)};
}

// Version 1, and version 2 where only counters are wanted: any group may have children.
CgroupSiteSearch FindWithoutRules(const CgroupHierarchy& hierarchy, const std::string& controller,
                                  const CgroupMounts& mounts) {
  const fs::path& top = hierarchy.mount.point;
  for (const fs::path& base : {OwnFolder(hierarchy, controller, mounts), top}) {
    if (MayWrite(base)) return {CgroupSite{base, false}, "", ""};
  }
  return {std::nullopt, fmt::format("{} can't be written to", top.string()),
          "run as root; a container or a batch job needs a writable cgroup of its own"};
}

void MakeFolder(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    throw std::system_error(errno, std::generic_category(), "making the cgroup " + folder.string());
  }
}

// v1: a group starts with no cpus and mems, and one without may hold neither tasks nor children
// that have them.
void InheritMems(const fs::path& folder) {
  if (!FirstLineOfCgroup(folder / "cpuset.mems").empty()) return;
  std::string mems = FirstLineOfCgroup(folder.parent_path() / "cpuset.effective_mems");
  if (mems.empty()) mems = FirstLineOfCgroup(folder.parent_path() / "cpuset.mems");
  WriteCgroupFile(folder / "cpuset.mems", mems);
}

void InheritCpus(const fs::path& folder) {
  std::string cpus = FirstLineOfCgroup(folder.parent_path() / "cpuset.effective_cpus");
  if (cpus.empty()) cpus = FirstLineOfCgroup(folder.parent_path() / "cpuset.cpus");
  if (FirstLineOfCgroup(folder / "cpuset.cpus") != cpus) {
    WriteCgroupFile(folder / "cpuset.cpus", cpus);
  }
}

void EnableForChildren(const fs::path& folder, const std::string& controller) {
  if (!NamesController(folder / "cgroup.subtree_control", controller)) {
    WriteCgroupFile(folder / "cgroup.subtree_control", "+" + controller);
  }
}

// What ends meanwhile can't be moved, and need not be.
void MoveMembers(const fs::path& from, const fs::path& to) {
  for (const pid_t process : CgroupMembers(from)) {
    try {
      if (process > 0) WriteCgroupFile(to / "cgroup.procs", std::to_string(process));
    } catch (const std::system_error& error) {
      if (error.code().value() != ESRCH) throw;
    }
  }
}

void EnableInOwn(const fs::path& base, const std::string& controller) {
  if (NamesController(base / "cgroup.subtree_control", controller)) return;
  MakeFolder(base / kCgroupHarness);
  constexpr int kTries = 100;  // A process may have been forked during the move.
  for (int i = 1;; ++i) {
    MoveMembers(base, base / kCgroupHarness);
    try {
      return EnableForChildren(base, controller);
    } catch (const std::system_error& error) {
      if (error.code().value() != EBUSY || i == kTries) throw;
    }
  }
}

fs::path MakeBelow(const CgroupSite& site, const CgroupHierarchy& hierarchy,
                   const std::string& controller, const std::string& name) {
  const fs::path parent = site.base / kCgroupParent;
  const bool controlled = hierarchy.v2 && !controller.empty();
  if (controlled && site.delegated) EnableInOwn(site.base, controller);
  if (controlled && !site.delegated) EnableForChildren(site.base, controller);
  MakeFolder(parent);
  if (controlled) EnableForChildren(parent, controller);
  if (!hierarchy.v2 && controller == "cpuset") {
    InheritMems(parent);
    InheritCpus(parent);
  }
  MakeFolder(parent / name);
  if (!hierarchy.v2 && controller == "cpuset") InheritMems(parent / name);
  return parent / name;
}

}  // namespace

CgroupSiteSearch FindCgroupSite(const CgroupHierarchy& hierarchy, const std::string& controller,
                                const CgroupMounts& mounts) {
  return hierarchy.v2 && !controller.empty() ? FindInVersion2(hierarchy, controller, mounts)
                                             : FindWithoutRules(hierarchy, controller, mounts);
}

fs::path MakeCgroup(const CgroupHierarchy& hierarchy, const std::string& controller,
                    const std::string& name, const CgroupMounts& mounts) {
  const CgroupSiteSearch found = FindCgroupSite(hierarchy, controller, mounts);
  if (!found.site) throw std::system_error(EACCES, std::generic_category(), found.why_not);
  constexpr int kTries = 100;  // Another host may just have removed the empty "cosched".
  for (int i = 1;; ++i) {
    try {
      return MakeBelow(*found.site, hierarchy, controller, name);
    } catch (const std::system_error& error) {
      const int code = error.code().value();
      if ((code != ENOENT && code != ENODEV) || i == kTries) throw;
    }
  }
}

}  // namespace cosched
