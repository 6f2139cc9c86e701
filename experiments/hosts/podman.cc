#include "experiments/hosts/podman.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "engine/base/topology.h"
#include "experiments/hosts/owner.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnerLabel = "cosched.owner";
constexpr const char* kInstall = "apt-get install --no-install-recommends podman runc conmon";

// Also where a user's PATH does not look: Debian's runc is in /usr/sbin.
std::string FindProgram(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string(path ? path : "") + ":/usr/bin:/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

std::vector<std::string> Podman(const fs::path& conf) {
  return {"/usr/bin/env", "CONTAINERS_CONF=" + conf.string(), FindProgram("podman")};
}

// A container may not ask for more than this process may give: raising a limit needs a privilege.
std::string Limit(const char* name, int resource, rlim_t most) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  const std::string value = std::to_string(std::min(limit.rlim_max, most));
  return "\"" + std::string(name) + "=" + value + ":" + value + "\"";
}

// The host's folder as a link (merged /usr), or as a mount of its own.
void Provide(const std::string& name, const fs::path& root, std::vector<std::string>* mounts) {
  const fs::path host = fs::path("/") / name;
  std::error_code error;
  if (fs::is_symlink(host, error)) {
    fs::create_symlink(fs::read_symlink(host), root / name, error);
  } else if (fs::is_directory(host, error)) {
    mounts->push_back("--volume=" + host.string() + ":" + host.string() + ":ro");
  }
}

std::string FirstLine(const std::optional<std::string>& text) {
  return text ? text->substr(0, text->find('\n')) : std::string("?");
}

}  // namespace

std::string WhyNoContainers() {
  std::string missing;
  for (const char* program : {"podman", "runc", "conmon"}) {
    if (FindProgram(program).empty())
      missing += (missing.empty() ? "" : ", ") + std::string(program);
  }
  if (!missing.empty()) return missing + " not found: " + kInstall;
  if (geteuid() != 0) return "only root may give a container cores: run as root";
  return {};
}

std::string ContainerRuntimeVersions() {
  return FirstLine(Capture({FindProgram("podman"), "--version"})) + ", " +
         FirstLine(Capture({FindProgram("runc"), "--version"}));
}

fs::path ContainerFolders() {
  if (geteuid() == 0) return "/run/cosched";
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  return fs::path(runtime ? runtime : "/tmp") / "cosched";
}

void WriteContainersConf(const fs::path& file) {
  std::ofstream stream(file);
  stream << "[containers]\nnetns = \"none\"\ndefault_ulimits = ["
         << Limit("nofile", RLIMIT_NOFILE, 65536) << ", " << Limit("nproc", RLIMIT_NPROC, 32768)
         << "]\n[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\n"
         << "events_logger = \"none\"\n";
  stream.close();
  if (!stream) throw std::runtime_error("can't write " + file.string());
}

std::vector<std::string> RunCommand(const ContainerPlan& plan) {
  const fs::path root = plan.folder / "root";
  std::vector<std::string> mounts{"--volume=/usr:/usr:ro",
                                  "--volume=" + plan.binary.string() + ":/cosched:ro",
                                  "--volume=" + plan.control.string() + ":" + kControlInside};
  for (const char* folder : {"proc", "sys", "dev", "run", "tmp", "etc", "usr"})
    fs::create_directories(root / folder);
  for (const char* folder : {"lib", "lib64", "bin"}) Provide(folder, root, &mounts);
  for (const std::string& read : plan.folders) {
    mounts.push_back("--volume=" + read + ":" + read + ":ro");
  }

  std::vector<std::string> command = Podman(plan.conf);
  for (const std::string& argument :
       {std::string("run"), std::string("--detach"), std::string("--rm"), "--name=" + plan.name,
        "--label=" + std::string(kOwnerLabel) + "=" + plan.owner, std::string("--network=none"),
        std::string("--read-only"), std::string("--cap-drop=all"),
        std::string("--security-opt=no-new-privileges"), std::string("--log-driver=passthrough"),
        "--cpuset-cpus=" + plan.cores.ToString(), "--cidfile=" + (plan.folder / "id").string(),
        "--pidfile=" + (plan.folder / "pid").string()}) {
    command.push_back(argument);
  }
  if (plan.quota) command.push_back("--cpus=" + std::to_string(*plan.quota));
  command.insert(command.end(), mounts.begin(), mounts.end());
  command.insert(command.end(), {"--rootfs", root.string(), "/cosched"});
  command.insert(command.end(), plan.arguments.begin(), plan.arguments.end());
  return command;
}

std::vector<std::string> UpdateCommand(const fs::path& conf, const std::string& name,
                                       const CpuSet& cores, bool quota) {
  std::vector<std::string> command = Podman(conf);
  command.push_back("update");
  command.push_back(quota ? "--cpus=" + std::to_string(cores.Count())
                          : "--cpuset-cpus=" + cores.ToString());
  command.push_back(name);
  return command;
}

std::vector<std::string> RemoveCommand(const fs::path& conf,
                                       const std::vector<std::string>& names) {
  std::vector<std::string> command = Podman(conf);
  command.insert(command.end(), {"rm", "--force", "--ignore", "--time=0"});
  command.insert(command.end(), names.begin(), names.end());
  return command;
}

std::optional<std::string> Capture(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += "'" + word + "' ";
  FILE* const output = popen((line + "2>/dev/null </dev/null").c_str(), "re");
  if (output == nullptr) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (size_t read; (read = std::fread(buffer, 1, sizeof buffer, output)) > 0;)
    text.append(buffer, read);
  if (pclose(output) != 0) return std::nullopt;
  return text;
}

std::string TryContainer(const fs::path& binary) {
  const fs::path folder = ContainerFolders() / (OwnerName() + "-trial");
  std::error_code ignored;
  fs::create_directories(folder / "control", ignored);
  const CpuSet cores = Topology::ThisMachine().Cpus();
  try {
    WriteContainersConf(folder / "containers.conf");
    std::vector<std::string> command = RunCommand({.conf = folder / "containers.conf",
                                                   .folder = folder,
                                                   .name = "cosched-" + OwnerName() + "-trial",
                                                   .owner = OwnerName(),
                                                   .cores = cores,
                                                   .quota = {},
                                                   .binary = fs::canonical(binary),
                                                   .control = folder / "control",
                                                   .folders = {},
                                                   .arguments = {"--version"}});
    std::erase(command, "--detach");
    const fs::path log = folder / "log";
    command.insert(command.begin(), {"/bin/sh", "-c", "exec \"$@\" 2>" + log.string(), "sh"});
    const bool worked = Capture(command).has_value();
    std::ifstream said(log);
    std::string problem, line;
    while (std::getline(said, line)) problem = line;
    fs::remove_all(folder, ignored);
    return worked ? "" : problem.empty() ? "no reason given" : problem;
  } catch (const std::runtime_error& error) {
    fs::remove_all(folder, ignored);
    return error.what();
  }
}

std::vector<std::string> CleanContainers() {
  std::vector<std::string> removed;
  const fs::path folders = ContainerFolders();
  std::error_code error;
  if (WhyNoContainers().empty()) {
    fs::create_directories(folders);
    const fs::path conf = folders / (OwnerName() + "-clean.conf");
    WriteContainersConf(conf);
    std::vector<std::string> list = Podman(conf);
    const std::string label = kOwnerLabel;
    list.insert(list.end(), {"ps", "--all", "--filter=label=" + label,
                             "--format={{.Names}} {{index .Labels \"" + label + "\"}}"});
    std::istringstream lines(Capture(list).value_or(""));
    for (std::string name, owner; lines >> name >> owner;) {
      if (IsOwnerName(owner) && !OwnerLives(owner) && Capture(RemoveCommand(conf, {name}))) {
        removed.push_back("container " + name);
      }
    }
    fs::remove(conf, error);
  }
  for (fs::directory_iterator entry(folders, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string owner = name.substr(0, name.find('-'));
    if (!IsOwnerName(owner) || OwnerLives(owner)) continue;
    std::error_code ignored;
    if (fs::remove_all(entry->path(), ignored) > 0) removed.push_back(entry->path().string());
  }
  return removed;
}

}  // namespace cosched
