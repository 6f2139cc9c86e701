#include "experiments/hosts/podman.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "engine/base/topology.h"
#include "experiments/os/capture.h"
#include "experiments/os/find_program.h"
#include "experiments/os/owner.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnerLabel = "cosched.owner";
constexpr const char* kInstall = "apt-get install --no-install-recommends podman runc conmon";

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
    mounts->push_back(BindMount(host, host));
  }
}

// Where a container's tenant is, as options of the runtime.
std::vector<std::string> PlaceArguments(const Place& place, const GroupSettings& groups) {
  std::vector<std::string> arguments = {"--cpuset-cpus=" + place.cores.ToString()};
  if (!groups.quota_period) return arguments;
  const std::optional<CpuLimit> limit = groups.LimitAt(place);
  const int64_t period_us = groups.quota_period->count();
  arguments.push_back("--cpu-period=" + std::to_string(period_us));
  arguments.push_back("--cpu-quota=" +
                      std::to_string(limit ? limit->amount.milli * period_us / 1000 : -1));
  return arguments;
}

std::string LastLineSaid(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = line;
  return last;
}

std::string FirstLineSaid(const std::optional<std::string>& text) {
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
  return FirstLineSaid(Capture({FindProgram("podman"), "--version"})) + ", " +
         FirstLineSaid(Capture({FindProgram("runc"), "--version"}));
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
  std::vector<std::string> mounts{BindMount("/usr", "/usr"), BindMount(plan.binary, "/cosched"),
                                  BindMount(plan.control, kControlInside, /*writable=*/true)};
  for (const char* folder : {"proc", "sys", "dev", "run", "tmp", "etc", "usr"})
    fs::create_directories(root / folder);
  for (const char* folder : {"lib", "lib64", "bin"}) Provide(folder, root, &mounts);
  // Links of Debian's out of /usr and back into it (libblas.so.3, editor), and where libraries are
  // beside those of /usr/lib.
  for (const std::string link : {"/etc/alternatives", "/etc/ld.so.cache"}) {
    if (std::error_code none; fs::exists(link, none)) mounts.push_back(BindMount(link, link));
  }
  for (const std::string& read : plan.folders) {
    mounts.push_back(BindMount(read, read));
  }

  std::vector<std::string> command = Podman(plan.conf);
  for (const std::string& argument :
       {std::string("run"), std::string("--detach"), std::string("--rm"), "--name=" + plan.name,
        "--label=" + std::string(kOwnerLabel) + "=" + plan.owner, std::string("--network=none"),
        std::string("--read-only"), std::string("--cap-drop=all"),
        std::string("--security-opt=no-new-privileges"), std::string("--log-driver=passthrough"),
        "--cidfile=" + (plan.folder / "id").string(),
        "--pidfile=" + (plan.folder / "pid").string()}) {
    command.push_back(argument);
  }
  for (std::string& argument : PlaceArguments(plan.place, plan.groups))
    command.push_back(std::move(argument));
  command.insert(command.end(), mounts.begin(), mounts.end());
  command.insert(command.end(), {"--rootfs", root.string(), "/cosched"});
  command.insert(command.end(), plan.arguments.begin(), plan.arguments.end());
  return command;
}

std::vector<std::string> UpdateCommand(const fs::path& conf, const std::string& name,
                                       const Place& place, const GroupSettings& groups) {
  std::vector<std::string> command = Podman(conf);
  command.push_back("update");
  for (std::string& argument : PlaceArguments(place, groups))
    command.push_back(std::move(argument));
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
                                                   .place = Place::Whole(cores, {}),
                                                   .groups = {.cpuset = true},
                                                   .binary = fs::canonical(binary),
                                                   .control = folder / "control",
                                                   .folders = {},
                                                   .arguments = {"--version"}});
    std::erase(command, "--detach");
    std::string said;
    const bool worked = Capture(command, &said).has_value();
    fs::remove_all(folder, ignored);
    const std::string problem = LastLineSaid(said);
    return worked ? "" : problem.empty() ? "no reason given" : problem;
  } catch (const std::runtime_error& error) {
    fs::remove_all(folder, ignored);
    return error.what();
  }
}

std::string BindMount(const std::string& source, const std::string& target, bool writable) {
  std::string mount = "--mount=type=bind";
  for (const auto& [key, path] : {std::pair("source", &source), std::pair("target", &target)}) {
    if (path->find('\n') != std::string::npos || path->find('\r') != std::string::npos) {
      throw std::runtime_error("a path with a line break can't be given to a container: " + *path);
    }
    mount += ",\"" + std::string(key) + "=";
    for (const char c : *path) mount += c == '"' ? std::string("\"\"") : std::string(1, c);
    mount += "\"";
  }
  return mount + (writable ? "" : ",readonly");
}

namespace {

struct OwnedContainer {
  std::string name, owner;
};

// Whatever their state; nullopt if podman can't tell. `filter` selects them by their label.
std::optional<std::vector<OwnedContainer>> ContainersBy(const fs::path& conf,
                                                        const std::string& filter) {
  std::vector<std::string> list = Podman(conf);
  list.insert(list.end(),
              {"ps", "--all", "--filter=label=" + filter,
               "--format={{.Names}} {{index .Labels \"" + std::string(kOwnerLabel) + "\"}}"});
  const std::optional<std::string> listed = Capture(list);
  if (!listed) return std::nullopt;
  std::istringstream lines(*listed);
  std::vector<OwnedContainer> found;
  for (OwnedContainer one; lines >> one.name >> one.owner;) found.push_back(one);
  return found;
}

// Tells what it did; the owners of containers that are still there, nullopt = nobody knows.
std::optional<std::set<std::string>> CleanOnlyContainers(const fs::path& conf, Cleaned* cleaned) {
  const auto containers = ContainersBy(conf, kOwnerLabel);
  if (!containers) {
    cleaned->left.emplace_back("containers and their folders: podman can't list them");
    return std::nullopt;
  }
  std::set<std::string> owners;
  for (const auto& [name, owner] : *containers) {
    const OwnerState state = IsOwnerName(owner) ? StateOfOwner(owner) : OwnerState::kUnknown;
    if (state == OwnerState::kLives) {
      owners.insert(owner);  // Who may have ended when it is asked for its folder.
    } else if (const std::string why = WhyLeft(state); !why.empty()) {
      cleaned->left.push_back(fmt::format("container {}: {}", name, why));
    } else if (Capture(RemoveCommand(conf, {name}))) {
      cleaned->removed.push_back("container " + name);
    } else {
      cleaned->left.push_back("container " + name + ": podman can't remove it");
      owners.insert(owner);
    }
  }
  return owners;
}

// Those of owners that are gone, but for those whose containers rest on them.
void CleanContainerFolders(const std::set<std::string>& still_used, Cleaned* cleaned) {
  std::error_code error;
  for (fs::directory_iterator entry(ContainerFolders(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string owner = name.substr(0, name.find('-'));
    if (!IsOwnerName(owner) || still_used.contains(owner)) continue;
    const OwnerState state = StateOfOwner(owner);
    if (state == OwnerState::kLives) continue;
    std::error_code ignored;
    if (const std::string why = WhyLeft(state); !why.empty()) {
      cleaned->left.push_back(entry->path().string() + ": " + why);
    } else if (fs::remove_all(entry->path(), ignored) > 0) {
      cleaned->removed.push_back(entry->path().string());
    }
  }
}

}  // namespace

Cleaned CleanContainers() {
  Cleaned cleaned;
  std::optional<std::set<std::string>> still_used = std::set<std::string>();
  if (WhyNoContainers().empty()) {
    const fs::path conf = ContainerFolders() / (OwnerName() + "-clean.conf");
    fs::create_directories(conf.parent_path());
    WriteContainersConf(conf);
    still_used = CleanOnlyContainers(conf, &cleaned);
    std::error_code ignored;
    fs::remove(conf, ignored);
  }
  if (still_used) CleanContainerFolders(*still_used, &cleaned);
  return cleaned;
}

// A start that was under way may bring one into being after a look: two looks in a row must find
// none.
void RemoveContainersOf(const fs::path& conf, const std::string& owner) {
  constexpr int kMostLooks = 20, kEmptyLooks = 2, kPauseMilliseconds = 200;
  const std::string label = std::string(kOwnerLabel) + "=" + owner;
  for (int look = 0, empty = 0; look < kMostLooks && empty < kEmptyLooks; ++look) {
    const auto containers = ContainersBy(conf, label);
    std::vector<std::string> names;
    for (const OwnedContainer& container : containers.value_or(std::vector<OwnedContainer>()))
      names.push_back(container.name);
    // A look that failed has not found none.
    empty = containers && names.empty() ? empty + 1 : 0;
    if (!names.empty()) Capture(RemoveCommand(conf, names));
    if (empty < kEmptyLooks) poll(nullptr, 0, kPauseMilliseconds);
  }
}

}  // namespace cosched
