#pragma once
// The container runtime: podman with runc, as command lines. No image is downloaded and none of the
// user's settings are read or changed: each launcher brings a containers.conf of its own, and a
// root file system that is nothing but links into read-only mounts of the host's /usr. Used by the
// container launcher and `cosched doctor`. Stateless.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/hosts/tenant_launcher.h"
#include "experiments/os/owner.h"

namespace cosched {

// "" if tenants can be put into containers here, else what is missing and what to do about it.
std::string WhyNoContainers();

// "podman version 4.3.1, runc version 1.1.5".
std::string ContainerRuntimeVersions();

// Where launchers of this user keep their sockets and root file systems; a folder each,
// "<owner>-…".
std::filesystem::path ContainerFolders();

// A file for $CONTAINERS_CONF. Throws std::runtime_error if it can't be written.
void WriteContainersConf(const std::filesystem::path& file);

// What one container is made of.
struct ContainerPlan {
  std::filesystem::path conf;    // As written above.
  std::filesystem::path folder;  // This tenant's; exists. Gets root/, id and pid.
  std::string name, owner;
  Place place;
  GroupSettings groups;
  std::filesystem::path binary;        // Becomes /cosched inside.
  std::filesystem::path control;       // Folder of the socket; becomes kControlInside.
  std::vector<std::string> folders;    // Each is mounted at its own path.
  std::vector<std::string> arguments;  // The binary's.
};
inline constexpr const char* kControlInside = "/control";

// "--mount=…" for a folder or file at its place inside. Its parts are one line of CSV, so any path
// will do but one with a line break. Throws std::runtime_error for that.
std::string BindMount(const std::string& source, const std::string& target, bool writable = false);

// Each is a whole command line; [0] is the program.
std::vector<std::string> RunCommand(const ContainerPlan& plan);  // Also makes root/.
std::vector<std::string> UpdateCommand(const std::filesystem::path& conf, const std::string& name,
                                       const Place& place, const GroupSettings& groups);
std::vector<std::string> RemoveCommand(const std::filesystem::path& conf,
                                       const std::vector<std::string>& names);

// Starts the binary once with --version in a container. "" if that worked, else what was said.
std::string TryContainer(const std::filesystem::path& binary);

// Removes containers and folders whose host is gone, whatever is in them. Leaves those of which
// that can't be known.
Cleaned CleanContainers();
// Removes the containers of one owner, which has ended, also one that is being started meanwhile.
void RemoveContainersOf(const std::filesystem::path& conf, const std::string& owner);

}  // namespace cosched
