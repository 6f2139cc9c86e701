// Tenants in real containers (podman with runc): fake tenants, so that what the host does is tested
// and not the engine.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <thread>

#include "experiments/hosts/container_launcher.h"
#include "experiments/hosts/podman.h"
#include "experiments/os/capture.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"
#include "tests/experiments/hosts/process_host_fixture.h"
#include "tests/experiments/os/other_owners.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Names of the containers of one owner, whatever their state.
std::vector<std::string> ContainersOf(const std::string& owner) {
  const auto text = Capture(
      {"podman", "ps", "--all", "--filter=label=cosched.owner=" + owner, "--format={{.Names}}"});
  EXPECT_TRUE(text) << "podman ps failed";
  std::istringstream lines(text.value_or(""));
  std::vector<std::string> names;
  for (std::string name; lines >> name;) names.push_back(name);
  return names;
}

ContainerLauncher::Options LauncherOptions() {
  return {.binary = "/proc/self/exe", .groups = {.cpuset = true}, .actuation = Actuation::kDirect};
}

class ContainerHostTest : public ProcessHostTest {
 protected:
  void SetUp() override {
    if (const std::string why_not = WhyNoContainers(); !why_not.empty()) GTEST_SKIP() << why_not;
    options_.log_directory = logs_.path();
  }
  void Make() {
    options_.cores = machine_;
    UseHost(
        std::make_unique<ProcessHost>(options_, std::make_unique<ContainerLauncher>(launcher_)));
  }
  // The tenant that a job's container holds, by the id that the runtime wrote down.
  static pid_t TenantOf(JobId job) {
    const std::string file = std::to_string(job.value) + "/pid";
    pid_t newest = -1;
    for (const auto& entry : std::filesystem::directory_iterator(ContainerFolders())) {
      if (!entry.path().filename().string().starts_with(OwnerName() + "-")) continue;
      const pid_t pid = std::atoi(ReadText(entry.path() / file).c_str());
      if (pid > 0) newest = pid;
    }
    EXPECT_GT(newest, 0) << "no container of job " << job.value;
    return newest;
  }
  ActuationSample OnlyActuation() {
    const std::vector<ActuationSample> all = Host().TakeActuations();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? ActuationSample() : all.front();
  }

  const TemporaryFolder logs_;
  ContainerLauncher::Options launcher_ = LauncherOptions();
};

TEST_F(ContainerHostTest, RunsTwoTenantsToTheirEndsAndLeavesNothing) {
  Make();
  const JobId first = Start("obedient", one_, 300);
  const JobId second = Start("obedient", one_, 300);
  int settled = 0, finished = 0;
  while (finished < 2) {
    const std::optional<HostEvent> event = Next();
    ASSERT_TRUE(event);
    if (const auto* failed = std::get_if<HostFailed>(&*event)) FAIL() << failed->reason;
    settled += std::holds_alternative<HostSettled>(*event) ? 1 : 0;
    finished += std::holds_alternative<HostFinished>(*event) ? 1 : 0;
    if (settled == 2 && finished == 0) {
      EXPECT_NE(CpusetPathOf(TenantOf(first)), CpusetPathOf(TenantOf(second)));
    }
  }
  EXPECT_EQ(Host().Progress(first), 1.0);
  EXPECT_EQ(Host().TakeSteps().size(), 600u);
  EXPECT_GT(Host().UsedByOthersChildren(), Duration(0));
  UseHost(nullptr);
  EXPECT_TRUE(ContainersOf(OwnerName()).empty());
}

TEST_F(ContainerHostTest, MovesPausesAndResumesAMalleableTenant) {
  Make();
  const JobId job = Start("obedient", two_);
  ExpectSettled(job);
  const pid_t tenant = TenantOf(job);
  EXPECT_EQ(UnionOfBindings(tenant, false), two_);
  for (const CpuSet& cores : {one_, two_, two_ - one_}) {
    if (cores.Empty()) continue;  // A machine of one core.
    Host().Grant(job, Place::Whole(cores, DefaultSplit(cores.Count())));
    ExpectSettled(job);
    EXPECT_EQ(UnionOfBindings(tenant, false), cores);
    EXPECT_EQ(Cgroup::Of(tenant).Cores(), cores);
    const ActuationSample moved = OnlyActuation();
    EXPECT_EQ(moved.actuator, "cpuset");
    EXPECT_TRUE(moved.fast);
    EXPECT_FALSE(moved.runtime);
  }
  Host().Pause(job);
  ExpectSettled(job);
  EXPECT_EQ(OnlySample().compute_threads, 0);
  Host().Grant(job, Place::Whole(two_, DefaultSplit(two_.Count())));
  ExpectSettled(job);
  EXPECT_EQ(OnlySample().compute_threads, two_.Count());
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, tenant, 0)));
  Host().Stop(job);
  pollfd gone{pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&gone, 1, 0), 1) << "stopped, but its process still runs";
}

TEST_F(ContainerHostTest, GrantDuringTheStartIsAnsweredOnce) {
  Make();
  const JobId job = Start("obedient", one_);
  Host().Grant(job, Place::Whole(two_, DefaultSplit(two_.Count())));
  ExpectSettled(job);
  EXPECT_EQ(UnionOfBindings(TenantOf(job), false), two_);
  EXPECT_FALSE(Next(milliseconds(300)));
}

TEST_F(ContainerHostTest, ClientThatIsOffKeepsItsThreadsOnFewerCores) {
  options_.client = Client::kOff;
  Make();
  const JobId job = Start("obedient", two_);
  ExpectSettled(job);
  const pid_t tenant = TenantOf(job);
  Host().Grant(job, Place::Whole(one_, {1, 1}));
  ExpectSettled(job);
  EXPECT_EQ(Cgroup::Of(tenant).Cores(), one_);
  EXPECT_EQ(UnionOfBindings(tenant, true), one_);
  EXPECT_EQ(OnlySample().compute_threads, two_.Count());  // The published oversubscription.
  EXPECT_FALSE(Next(milliseconds(700)));                  // Which is no misconduct.
  Host().Pause(job);
  ExpectSettled(job);
  Host().Grant(job, Place::Whole(two_, {1, 2}));
  ExpectSettled(job);
  EXPECT_EQ(UnionOfBindings(tenant, true), two_);
}

TEST_F(ContainerHostTest, RuntimeMovesItWhereTheHostDoesNot) {
  launcher_.actuation = Actuation::kRuntime;
  Make();
  const JobId job = Start("obedient", two_);
  ExpectSettled(job);
  Host().Grant(job, Place::Whole(one_, {1, 1}));
  ExpectSettled(job);
  EXPECT_EQ(Cgroup::Of(TenantOf(job)).Cores(), one_);
  const ActuationSample moved = OnlyActuation();
  EXPECT_EQ(moved.actuator, "runtime");
  EXPECT_FALSE(moved.fast);
  EXPECT_TRUE(moved.runtime && *moved.runtime > Duration(0));
}

// A host that is not scheduled while the runtime works must not count that time against the tenant,
// which is told of its grant only when the runtime is done.
TEST_F(ContainerHostTest, TheRuntimesTimeIsNotTheTenants) {
  launcher_.actuation = Actuation::kRuntime;
  options_.timeouts.revocation = milliseconds(250);
  options_.timeouts.settle = std::chrono::seconds(60);  // The runtime's time, where that is slow.
  Make();
  const JobId job = Start("obedient", two_);
  ExpectSettled(job);
  Host().Grant(job, Place::Whole(one_, {1, 1}));
  std::this_thread::sleep_for(2 * options_.timeouts.revocation);
  ExpectSettled(job);
}

TEST_F(ContainerHostTest, QuotaLimitsTheTimeAndNotThePlace) {
  options_.actuator = Actuator::kQuota;
  launcher_.groups = GroupSettings::For(options_.actuator, false, options_.quota_period);
  Make();
  const JobId job = Start("obedient", one_, kForever, Elasticity::kRigid);
  ExpectSettled(job);
  EXPECT_EQ(UnionOfBindings(TenantOf(job), false), machine_);
  Host().Grant(job, Place::Whole(two_, {1, 1}));
  ExpectSettled(job);
  EXPECT_EQ(OnlyActuation().actuator, "quota");
  EXPECT_TRUE(OnlySample().throttled);
}

TEST_F(ContainerHostTest, CpusetNarrowedByHandIsSurvived) {
  Make();
  const JobId job = Start("obedient", two_);
  ExpectSettled(job);
  Cgroup::Of(TenantOf(job)).SetCores(one_);
  EXPECT_FALSE(Next(milliseconds(700)));
  EXPECT_EQ(Cgroup::Of(TenantOf(job)).Cores(), one_);
}

TEST_F(ContainerHostTest, CrashIsToldWithItsStatusAndLeavesTheOtherAlone) {
  Make();
  const JobId other = Start("obedient", one_);
  ExpectSettled(other);
  const std::string reason = Failure(Start("crash", one_));
  // Before Linux 6.15 nobody but the runtime learns the status.
  EXPECT_TRUE(reason.find("exited with status 3") == 0 || reason.find("ended") == 0) << reason;
  EXPECT_FALSE(Next(milliseconds(300)));
  const pid_t tenant = TenantOf(other);
  kill(tenant, SIGKILL);
  const std::string killed = Failure(other);
  EXPECT_TRUE(killed.find("was killed by signal 9") == 0 || killed.find("ended") == 0) << killed;
}

TEST_F(ContainerHostTest, StopDuringTheStartLeavesNothing) {
  Make();
  const JobId job = Start("obedient", one_);
  Host().Stop(job);
  EXPECT_FALSE(Next(milliseconds(100)));
  UseHost(nullptr);
  EXPECT_TRUE(ContainersOf(OwnerName()).empty());
}

TEST_F(ContainerHostTest, WhoeverConnectsFromOutsideIsRefused) {
  Make();
  const JobId job = Start("obedient", one_);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  for (const auto& entry : std::filesystem::directory_iterator(ContainerFolders())) {
    const std::filesystem::path path =
        entry.path() / std::to_string(job.value) / "control" / "host";
    if (entry.path().filename().string().starts_with(OwnerName() + "-") &&
        std::filesystem::exists(path)) {
      std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    }
  }
  const UniqueFd stranger(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(stranger.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ExpectSettled(job);  // The tenant came second and is known.
  char byte;
  EXPECT_EQ(recv(stranger.get(), &byte, 1, 0), 0) << "it was welcomed";
}

TEST_F(ContainerHostTest, ContainerThatCannotStartSaysWhy) {
  launcher_.binary = "/etc/hostname";
  Make();
  const std::string reason = Failure(Start("obedient", one_));
  EXPECT_EQ(reason.find("its container "), 0u) << reason;
  EXPECT_NE(reason.find("exec /cosched"), std::string::npos) << reason;  // What the runtime said.
}

// No process has the other end of a pipe any more. It is what all processes of a harness and of its
// containers write to, also one that the runtime has not started yet, or does not know any more.
bool IsClosedByAll(int pipe) {
  char text[4096];
  while (true) {
    pollfd descriptor{pipe, POLLIN, 0};
    if (poll(&descriptor, 1, 30'000) <= 0) return false;
    if (read(pipe, text, sizeof text) <= 0) return true;
  }
}

// Kills a harness of containers and waits until nothing is left of them; `moment` says when.
void ExpectNoContainerOutlives(const std::string& moment) {
  const AloneInCleaning alone;  // What is left for a moment others would clean.
  int ends[2], errors[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(errors, O_CLOEXEC), 0);
  const pid_t harness = fork();
  if (harness == 0) {
    dup2(ends[1], 1);
    dup2(errors[1], 2);
    execl("/proc/self/exe", "test", "container-harness", moment.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  close(errors[1]);
  FILE* const output = fdopen(ends[0], "r");
  char line[128] = "";
  ASSERT_NE(std::fgets(line, sizeof line, output), nullptr);
  std::fclose(output);
  std::string owner = line;
  owner.pop_back();
  if (moment == "paused") {
    EXPECT_EQ(ContainersOf(owner).size(), 1u);
  }
  kill(harness, SIGKILL);
  waitpid(harness, nullptr, 0);
  const auto folder_is_left = [&owner] {
    for (const auto& entry : std::filesystem::directory_iterator(ContainerFolders()))
      if (entry.path().filename().string().starts_with(owner + "-")) return true;
    return false;
  };
  // The folder goes last.
  for (int i = 0; i < 600 && folder_is_left(); ++i) std::this_thread::sleep_for(milliseconds(100));
  EXPECT_FALSE(folder_is_left());
  EXPECT_TRUE(ContainersOf(owner).empty());
  EXPECT_TRUE(IsClosedByAll(errors[0])) << "a process of a container is left";
  close(errors[0]);
}

TEST_F(ContainerHostTest, NoStoppedContainerOutlivesAKilledHarness) {
  Make();
  const JobId mine = Start("obedient", one_);
  ExpectSettled(mine);
  ExpectNoContainerOutlives("paused");
  EXPECT_EQ(ContainersOf(OwnerName()).size(), 1u);
  EXPECT_FALSE(Next(milliseconds(300)));
}

TEST_F(ContainerHostTest, NoContainerOutlivesAHarnessThatIsKilledDuringTheStart) {
  ExpectNoContainerOutlives("starting");
}

TEST_F(ContainerHostTest, CleaningRemovesWhatIsSurelyLeftBehindAndNothingElse) {
  const AloneInCleaning alone;
  Make();
  const JobId mine = Start("obedient", one_);
  ExpectSettled(mine);
  const TemporaryFolder folder;
  WriteContainersConf(folder.path() / "conf");
  const std::string ended = EndedOwner(), elsewhere = OwnerElsewhere();
  for (const std::string& owner : {ended, elsewhere}) {
    std::filesystem::create_directories(folder.path() / owner / "control");
    ASSERT_TRUE(Capture(RunCommand({.conf = folder.path() / "conf",
                                    .folder = folder.path() / owner,
                                    .name = "cosched-" + owner + "-1",
                                    .owner = owner,
                                    .place = Place::Whole(one_, {}),
                                    .groups = {.cpuset = true},
                                    .binary = "/usr/bin/sleep",
                                    .control = folder.path() / owner / "control",
                                    .folders = {},
                                    .arguments = {"1000"}})));
  }
  const Cleaned cleaned = CleanContainers();
  const auto tells = [](const std::vector<std::string>& texts, const std::string& beginning) {
    return std::any_of(texts.begin(), texts.end(), [&beginning](const std::string& text) {
      return text.starts_with(beginning);
    });
  };
  EXPECT_TRUE(tells(cleaned.removed, "container cosched-" + ended));
  EXPECT_TRUE(tells(cleaned.left, "container cosched-" + elsewhere + "-1: belongs to another PID"));
  EXPECT_TRUE(ContainersOf(ended).empty());
  EXPECT_EQ(ContainersOf(elsewhere).size(), 1u);
  RemoveContainersOf(folder.path() / "conf", elsewhere);
  EXPECT_TRUE(ContainersOf(elsewhere).empty());
  EXPECT_EQ(ContainersOf(OwnerName()).size(), 1u);
  EXPECT_FALSE(Next(milliseconds(300)));
}

// A container's mounts are words of their own language, in which a colon, a comma and a quote have
// a meaning.
TEST_F(ContainerHostTest, PathsMayHoldAnyCharacter) {
  const TemporaryFolder folder;
  const std::filesystem::path data = folder.path() / "o'neil: a,b \"c\" $(id)";
  WriteText(data / "text", "found");
  std::filesystem::copy_file("/usr/bin/cat", data / "cat");
  std::filesystem::create_directories(folder.path() / "x" / "control");
  WriteContainersConf(folder.path() / "conf");
  std::vector<std::string> command = RunCommand({.conf = folder.path() / "conf",
                                                 .folder = folder.path() / "x",
                                                 .name = "cosched-" + OwnerName() + "-paths",
                                                 .owner = OwnerName(),
                                                 .place = Place::Whole(one_, {}),
                                                 .groups = {.cpuset = true},
                                                 .binary = data / "cat",
                                                 .control = folder.path() / "x" / "control",
                                                 .folders = {data},
                                                 .arguments = {(data / "text").string()}});
  std::erase(command, "--detach");
  std::string said;
  EXPECT_EQ(Capture(command, &said), "found") << said;
}

// A link of Debian's alternatives leads somewhere, and a file can be given, too.
TEST_F(ContainerHostTest, WhatIsSeenOfEtc) {
  const TemporaryFolder folder;
  WriteText(folder.path() / "settings", "told");
  std::filesystem::create_directories(folder.path() / "x" / "control");
  WriteContainersConf(folder.path() / "conf");
  const std::string settings = (folder.path() / "settings").string();
  std::vector<std::string> command =
      RunCommand({.conf = folder.path() / "conf",
                  .folder = folder.path() / "x",
                  .name = "cosched-" + OwnerName() + "-etc",
                  .owner = OwnerName(),
                  .place = Place::Whole(one_, {}),
                  .groups = {.cpuset = true},
                  .binary = std::filesystem::canonical("/bin/sh"),
                  .control = folder.path() / "x" / "control",
                  .folders = {settings},
                  .arguments = {"-c", "cat " + settings +
                                          "; ls -d /etc/*; ls -L /etc/alternatives >/dev/null; "
                                          "echo x >> " +
                                          settings + " || echo refused"}});
  std::erase(command, "--detach");
  std::string said;
  const std::optional<std::string> seen = Capture(command, &said);
  ASSERT_TRUE(seen) << said;
  EXPECT_EQ(seen->find("told/etc/alternatives"), 0U) << *seen;
  EXPECT_EQ(seen->find("passwd"), std::string::npos) << *seen;
  EXPECT_NE(seen->find("refused"), std::string::npos) << *seen;
}

TEST(PodmanTest, AMountIsOneLine) { EXPECT_THROW(BindMount("/a\nb", "/a"), std::runtime_error); }

TEST(PodmanTest, OrdinaryUsersAreToldThatOnlyRootMay) {
  if (geteuid() != 0) GTEST_SKIP() << "this is an ordinary user";
  const pid_t child = fork();
  if (child == 0) {
    const bool dropped = setuid(65534) == 0;
    const std::string why_not = WhyNoContainers();
    _exit(dropped && why_not.find("root") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace

// A harness whose one tenant is paused when it is killed, so that it can't leave by itself; or, if
// `moment` is "starting", that has just been told to start it.
int RunContainerHarness(const std::string& moment) {
  ProcessHost::Options options = HostOptions();
  options.actuator = Actuator::kCpuset;
  ProcessHost host(options, std::make_unique<ContainerLauncher>(LauncherOptions()));
  Job job;
  job.id = JobId{1};
  job.elasticity = Elasticity::kRigid;
  TenantSpec spec;
  spec.model = "obedient";
  spec.steps = kForever;
  host.Describe(job.id, spec);
  host.Start(job, Place::Whole({HostOptions().topology.Cpus().First()}, {1, 1}));
  const auto settle = [&host] { host.NextEvent(host.GetClock().Now() + seconds(20)); };
  if (moment == "starting") {
    host.NextEvent(host.GetClock().Now() + milliseconds(100));
  } else {
    settle();
    host.Pause(job.id);
    settle();
  }
  std::cout << OwnerName() << std::endl;
  while (true) host.NextEvent(host.GetClock().Now() + seconds(1));
}

}  // namespace cosched
