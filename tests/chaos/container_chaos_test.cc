// Chaos in containers: it ends as it does in processes, and nothing of it is left behind.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "experiments/hosts/container_launcher.h"
#include "experiments/hosts/podman.h"
#include "experiments/os/capture.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"
#include "tests/chaos/chaos_alone.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using std::chrono::seconds;

// A container's group is named after its id, which the runtime wrote down, and should die with it.
// Others' groups come and go meanwhile.
int GroupsNamed(const std::string& id, const std::filesystem::path& below = "/sys/fs/cgroup") {
  int found = 0;
  std::error_code gone;
  for (std::filesystem::directory_iterator entry(below, gone), end; !gone && entry != end;
       entry.increment(gone)) {
    std::error_code vanished;
    if (!entry->is_directory(vanished) || entry->is_symlink(vanished)) continue;
    found += entry->path().filename().string().find(id) != std::string::npos ? 1 : 0;
    found += GroupsNamed(id, entry->path());
  }
  return found;
}

// Ids of this process's containers that still have a folder.
std::vector<std::string> Ids() {
  std::vector<std::string> ids;
  for (const auto& folder : std::filesystem::directory_iterator(ContainerFolders())) {
    if (!folder.path().filename().string().starts_with(OwnerName() + "-")) continue;
    const std::string id = ReadText(folder.path() / "1/id");
    if (!id.empty()) ids.push_back(id.substr(0, id.find('\n')));
  }
  return ids;
}

TEST(ContainerChaosTest, EndsAndLeavesNothing) {
  if (const std::string why_not = WhyNoContainers(); !why_not.empty()) GTEST_SKIP() << why_not;
  const TemporaryFolder folder;
  const Topology topology = Topology::ThisMachine();
  for (const char* behaviour :
       {"behaves", "deaf", "refuses", "floods", "scribbles", "crashes", "mute", "forks", "stays"}) {
    auto host = std::make_unique<ProcessHost>(
        ProcessHost::Options{.binary = {},
                             .log_directory = folder.path(),
                             .topology = topology,
                             .actuator = Actuator::kCpuset,
                             .cores = topology.OneThreadPerCore(),
                             .timeouts = {.heartbeat = seconds(2), .start = seconds(10)}},
        std::make_unique<ContainerLauncher>(
            ContainerLauncher::Options{.binary = CoschedBinary(),
                                       .groups = {.cpuset = true},
                                       .actuation = Actuation::kDirect}));
    ExpectOwnEnd(behaviour, RunAlone(host.get(), behaviour, kLongEnough));
    const std::vector<std::string> ids = Ids();
    EXPECT_EQ(ids.size(), 1u) << behaviour;
    host = nullptr;
    for (const std::string& id : ids) EXPECT_EQ(GroupsNamed(id), 0) << behaviour;
    EXPECT_TRUE(Ids().empty()) << behaviour;
  }
  EXPECT_EQ(
      Capture({"podman", "ps", "--all", "--quiet", "--filter=label=cosched.owner=" + OwnerName()}),
      "");
}

}  // namespace
}  // namespace cosched
