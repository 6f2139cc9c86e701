#pragma once
// The container runtime: podman with runc, as command lines. No image is downloaded and none of the
// user's settings are read or changed: each launcher brings a containers.conf of its own, and a
// root file system that is nothing but links into read-only mounts of the host's /usr. Used by the
// container launcher and `cosched doctor`. Stateless.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"

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
  std::filesystem::path folder;  // Of this tenant; exists. Gets root/, id and pid.
  std::string name, owner;
  CpuSet cores;
  std::optional<int> quota;            // In cores.
  std::filesystem::path binary;        // Becomes /cosched inside.
  std::filesystem::path control;       // Folder of the socket; becomes kControlInside.
  std::vector<std::string> folders;    // Each is mounted at its own path.
  std::vector<std::string> arguments;  // Of the binary.
};
inline constexpr const char* kControlInside = "/control";

// Each is a whole command line; [0] is the program.
std::vector<std::string> RunCommand(const ContainerPlan& plan);  // Also makes root/.
std::vector<std::string> UpdateCommand(const std::filesystem::path& conf, const std::string& name,
                                       const CpuSet& cores, bool quota);
std::vector<std::string> RemoveCommand(const std::filesystem::path& conf,
                                       const std::vector<std::string>& names);

// Starts the binary once with --version in a container. "" if that worked, else what was said.
std::string TryContainer(const std::filesystem::path& binary);

// Runs a command to its end; what it wrote to stdout, or nullopt if it failed.
std::optional<std::string> Capture(const std::vector<std::string>& command);

// Removes containers and folders whose host is gone, whatever is in them, and returns their names.
std::vector<std::string> CleanContainers();

}  // namespace cosched
