// A harness that is killed, as by an operator or for lack of memory, takes all that it has started
// with it: tenants that compute, that are stopped, that start, what they have forked, and cgroups.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/unique_fd.h"
#include "experiments/hosts/podman.h"
#include "experiments/hosts/process_tree.h"
#include "experiments/hosts/tenant_guard.h"
#include "experiments/os/capture.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"
#include "experiments/tenant/host_link.h"
#include "tests/experiments/hosts/fake_tenant.h"
#include "tests/experiments/hosts/process_host_fixture.h"
#include "tests/experiments/os/other_owners.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

constexpr int kOtherUser = 54321;  // Whom nobody has heard of: no limit of another process counts.
constexpr int kDeathMilliseconds = 20'000;

UniqueFd OpenProcess(pid_t process) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

bool EndsWithin(const UniqueFd& process, int milliseconds) {
  pollfd gone{process.get(), POLLIN, 0};
  return poll(&gone, 1, milliseconds) == 1;
}

// A harness of these arguments, its owner's name, and the processes that it tells of.
struct StartedHarness {
  pid_t pid = -1;
  std::string owner;
  std::vector<UniqueFd> processes;
};

StartedHarness StartHarness(const std::vector<std::string>& command) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  StartedHarness harness{.pid = fork(), .owner = {}, .processes = {}};
  if (harness.pid == 0) {
    dup2(ends[1], 1);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments.front(), arguments.data());
    _exit(127);
  }
  close(ends[1]);
  FILE* const output = fdopen(ends[0], "r");
  char line[128] = "";
  if (std::fgets(line, sizeof line, output) != nullptr) harness.owner = line;
  if (!harness.owner.empty()) harness.owner.pop_back();
  while (std::fgets(line, sizeof line, output) != nullptr && line[0] != '\n') {
    harness.processes.push_back(OpenProcess(std::atoi(line)));
    EXPECT_TRUE(harness.processes.back()) << line << " is not there";
  }
  std::fclose(output);
  return harness;
}

void KillHarness(const StartedHarness& harness) {
  kill(harness.pid, SIGKILL);
  waitpid(harness.pid, nullptr, 0);
}

void ExpectAllGone(const StartedHarness& harness) {
  for (size_t i = 0; i < harness.processes.size(); ++i) {
    EXPECT_TRUE(EndsWithin(harness.processes[i], kDeathMilliseconds))
        << "process " << i << " has outlived its harness";
    syscall(SYS_pidfd_send_signal, harness.processes[i].get(), SIGKILL, nullptr, 0);
  }
}

TEST(KilledHarnessTest, TakesAllThatItHasStartedWithIt) {
  const StartedHarness harness = StartHarness({"/proc/self/exe", "harness"});
  EXPECT_EQ(harness.processes.size(), 5u);
  KillHarness(harness);
  ExpectAllGone(harness);
}

// The kernel forgets that a child is to die with its parent when it executes a file with
// capabilities, and hides that child's environment.
TEST(KilledHarnessTest, TakesTenantsWithCapabilitiesWithIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a file capabilities";
  const TemporaryFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  const std::string binary = folder.path() / "cosched-test";
  std::filesystem::copy_file("/proc/self/exe", binary);
  if (!Capture({"setcap", "cap_sys_nice+ep", binary})) GTEST_SKIP() << "setcap does not work here";
  const std::string user = std::to_string(kOtherUser);
  const StartedHarness harness = StartHarness(
      {"setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups", binary, "harness"});
  if (harness.owner.empty()) {
    KillHarness(harness);
    GTEST_SKIP() << "another user can't run this test's binary";
  }
  EXPECT_EQ(harness.processes.size(), 5u);
  KillHarness(harness);
  ExpectAllGone(harness);
}

TEST(KilledHarnessTest, LeavesNoCgroup) {
  if (const Cgroup::Support support = Cgroup::Probe(); !support.cpuset)
    GTEST_SKIP() << "no cgroup can be made here: " << support.why_not;
  const AloneInCleaning alone;  // What is left for a moment others would clean.
  const StartedHarness harness = StartHarness({"/proc/self/exe", "harness", "cpuset"});
  EXPECT_EQ(harness.processes.size(), 5u);
  KillHarness(harness);
  ExpectAllGone(harness);
  const std::string find = "find /sys/fs/cgroup -name '" + harness.owner + "-*' 2>/dev/null; true";
  const auto groups_left = [&find] {
    const std::string found = Capture({"/bin/sh", "-c", find}).value_or("?");
    return std::count(found.begin(), found.end(), '\n');
  };
  for (int i = 0; i < 1000 && groups_left() > 0; ++i) usleep(10'000);
  EXPECT_EQ(groups_left(), 0);
}

// For a child in a test: waits for the end, stopped or not.
[[noreturn]] void Rest() {
  while (true) pause();
}

std::string CommandLineOf(pid_t process) {
  return ReadText("/proc/" + std::to_string(process) + "/cmdline").c_str();  // The first word.
}

// The guard of an owner, once it has its name: not the owner's, by which somebody might kill both.
UniqueFd GuardOf(pid_t owner) {
  for (int i = 0; i < 1000; ++i) {
    for (const pid_t guard : ProcessesNamed("tenant-guard"))
      if (CommandLineOf(guard) == "tenant-guard of " + std::to_string(owner))
        return OpenProcess(guard);
    usleep(10'000);
  }
  return {};
}

TEST(TenantGuardTest, KillsWhatItWasToldOfAndCleansUp) {
  const TemporaryFolder folder;
  const std::string mark = folder.path() / "cleaned";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    TenantGuard guard([mark] { WriteText(mark, "yes"); });
    const pid_t child = fork();
    if (child == 0) {
      setsid();
      raise(SIGSTOP);
      Rest();
    }
    guard.Watch(OpenProcess(child).get());
    [[maybe_unused]] const ssize_t told = write(ends[1], &child, sizeof child);
    Rest();
  }
  pid_t child = -1;
  ASSERT_EQ(read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  const UniqueFd process = OpenProcess(child), guard = GuardOf(owner);
  ASSERT_TRUE(guard);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(EndsWithin(process, kDeathMilliseconds));
  EXPECT_TRUE(EndsWithin(guard, kDeathMilliseconds));
  for (int i = 0; i < 1000 && !std::filesystem::exists(mark); ++i) usleep(10'000);
  EXPECT_TRUE(std::filesystem::exists(mark));
}

// Hosts of one process make theirs while others' tenants end.
TEST(TenantGuardTest, OrphansAreAdoptedAlsoWhileOneIsMade) {
  AdoptOrphans();
  std::atomic<bool> enough = false;
  std::thread maker([&enough] {
    while (!enough) TenantGuard guard;
  });
  int lost = 0;
  for (int i = 0; i < 300; ++i) {
    int told[2];
    ASSERT_EQ(pipe2(told, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      if (const pid_t parent = getpid(); fork() == 0) {
        while (getppid() == parent) sched_yield();
        const pid_t adopter = getppid(), self = getpid();
        if (write(told[1], &adopter, sizeof adopter) < 0 || write(told[1], &self, sizeof self) < 0)
          _exit(1);
      }
      _exit(0);
    }
    close(told[1]);
    waitpid(child, nullptr, 0);
    pid_t adopter = 0, orphan = 0;
    EXPECT_EQ(read(told[0], &adopter, sizeof adopter), static_cast<ssize_t>(sizeof adopter));
    EXPECT_EQ(read(told[0], &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));
    close(told[0]);
    lost += adopter != getpid();
    if (adopter == getpid()) waitpid(orphan, nullptr, 0);
  }
  enough = true;
  maker.join();
  EXPECT_EQ(lost, 0) << "became another's, of which nobody looks for a tenant's mark";
}

TEST(TenantGuardTest, DoesNothingAfterAGoodBye) {
  const TemporaryFolder folder;
  const std::string mark = folder.path() / "cleaned";
  const pid_t bystander = fork();
  if (bystander == 0) Rest();
  const pid_t owner = fork();
  if (owner == 0) {
    {
      TenantGuard guard([mark] { WriteText(mark, "yes"); });
      guard.Watch(OpenProcess(bystander).get());
    }
    _exit(0);
  }
  waitpid(owner, nullptr, 0);
  usleep(300'000);  // There is nothing to wait for; a guard in error would act at once.
  EXPECT_FALSE(std::filesystem::exists(mark));
  EXPECT_EQ(waitpid(bystander, nullptr, WNOHANG), 0);
  kill(bystander, SIGKILL);
  waitpid(bystander, nullptr, 0);
}

// A frozen process can't be killed before it is thawed, as one that waits for a broken disk.
TEST(TenantProcessTest, WhatDoesNotDieIsGivenUp) {
  const std::filesystem::path freezer =
      "/sys/fs/cgroup/freezer/cosched-process-test-" + std::to_string(getpid());
  std::error_code error;
  if (!std::filesystem::create_directory(freezer, error)) GTEST_SKIP() << "no version 1 freezer";
  {
    TenantGuard guard;
    Reaper reaper;
    TenantProcess sleeper({.binary = "/usr/bin/sleep",
                           .arguments = {"1000"},
                           .cores = {},
                           .doors = {},
                           .inherited = {},
                           .log = {},
                           .death_timeout = std::chrono::milliseconds(100)},
                          &guard, &reaper);
    WriteText(freezer / "cgroup.procs", std::to_string(sleeper.pid()));
    WriteText(freezer / "freezer.state", "FROZEN");
    while (ReadText(freezer / "freezer.state") != "FROZEN\n") usleep(1000);
    EXPECT_FALSE(sleeper.Kill());
    EXPECT_FALSE(sleeper.Ended());
    WriteText(freezer / "freezer.state", "THAWED");
    bool killed = false;
    for (int i = 0; i < 100 && !killed; ++i) killed = sleeper.Kill();
    EXPECT_TRUE(killed);
    const std::optional<TenantProcess::End> end = sleeper.Ended();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->how, "was killed by signal 9 (Killed)");
  }
  for (int i = 0; i < 1000 && !std::filesystem::remove(freezer, error); ++i) usleep(10'000);
}

// A tenant that ends by itself may leave behind what does not die: its end says so, for its cores
// may be in use still.
TEST(TenantProcessTest, WhatATenantLeavesBehindIsTold) {
  const std::filesystem::path freezer =
      "/sys/fs/cgroup/freezer/cosched-orphan-test-" + std::to_string(getpid());
  std::error_code error;
  if (!std::filesystem::create_directory(freezer, error)) GTEST_SKIP() << "no version 1 freezer";
  if (const auto support = Cgroup::Probe(); !support.cpuset) GTEST_SKIP() << support.why_not;
  const TemporaryFolder folder;
  const std::string orphan = (folder.path() / "orphan").string(),
                    go = (folder.path() / "go").string();
  {
    TenantGuard guard;
    Reaper reaper;
    auto group = std::make_unique<Cgroup>(
        Cgroup::Create(OwnerName() + "-orphan", Topology::ThisMachine().Cpus()));
    const std::vector<int> doors = group->Doors();
    TenantProcess tenant(
        {.binary = "/bin/sh",
         .arguments = {"-c", "sleep 1000 & echo $! > " + orphan + "; while [ ! -e " + go +
                                 " ]; do sleep 0.01; done"},
         .cores = {},
         .doors = doors,
         .inherited = {},
         .log = {},
         .death_timeout = std::chrono::milliseconds(100)},
        &guard, &reaper, std::move(group));
    while (ReadText(orphan).find('\n') == std::string::npos) usleep(1000);
    WriteText(freezer / "cgroup.procs", ReadText(orphan));
    WriteText(freezer / "freezer.state", "FROZEN");
    while (ReadText(freezer / "freezer.state") != "FROZEN\n") usleep(1000);
    EXPECT_FALSE(tenant.Ended());
    WriteText(go, "");
    std::optional<TenantProcess::End> end;
    while (!(end = tenant.Ended())) usleep(1000);
    EXPECT_TRUE(end->success) << end->how;
    EXPECT_FALSE(end->all_gone);
    WriteText(freezer / "freezer.state", "THAWED");
  }
  for (int i = 0; i < 1000 && !std::filesystem::remove(freezer, error); ++i) usleep(10'000);
}

// Without a guard.
TEST(DieWithHostTest, StoppedTenantDiesWithItsHost) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t host = fork();
  if (host == 0) {
    const pid_t self = getpid(), tenant = fork();
    if (tenant == 0) {
      DieWithHost(self);
      const pid_t number = getpid();
      [[maybe_unused]] const ssize_t told = write(ends[1], &number, sizeof number);
      raise(SIGSTOP);
      Rest();
    }
    Rest();
  }
  pid_t tenant = -1;
  ASSERT_EQ(read(ends[0], &tenant, sizeof tenant), static_cast<ssize_t>(sizeof tenant));
  const UniqueFd process = OpenProcess(tenant);
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  EXPECT_TRUE(EndsWithin(process, kDeathMilliseconds));
}

TEST(DieWithHostTest, HostThatIsGoneAlreadyIsNoticed) {
  EXPECT_THROW(DieWithHost(getpid()), std::runtime_error);  // Not the parent.
  prctl(PR_SET_PDEATHSIG, 0);
}

}  // namespace

// One tenant that computes, one that never comes up and is stopped then, one that is paused and one
// that has forked; tells who they are.
int RunHarness(const std::string& actuator) {
  ProcessHost::Options options = HostOptions();
  if (actuator == "cpuset") options.actuator = Actuator::kCpuset;
  options.cores = options.topology.Cpus();
  ProcessHost host(options);
  const CpuSet one{options.topology.Cpus().First()};
  const auto start = [&host, &one](int64_t id, const std::string& behaviour, Elasticity how) {
    Job job;
    job.id = JobId{id};
    job.elasticity = how;
    TenantSpec spec;
    spec.model = behaviour;
    spec.steps = kForever;
    host.Describe(job.id, spec);
    host.Start(job, Place::Whole(one, {1, 1}));
    return job.id;
  };
  const auto settle = [&host](JobId job) {
    while (true) {
      const auto event = host.NextEvent(host.GetClock().Now() + std::chrono::seconds(60));
      if (!event || std::holds_alternative<HostFailed>(*event)) _exit(1);
      const auto* settled = std::get_if<HostSettled>(&*event);
      if (settled != nullptr && settled->job == job) return;
    }
  };
  settle(start(1, "obedient", Elasticity::kMalleable));
  const JobId paused = start(2, "obedient", Elasticity::kRigid);
  settle(paused);
  host.Pause(paused);
  settle(paused);
  settle(start(3, "breeding", Elasticity::kMalleable));
  std::vector<pid_t> strays;
  while (strays.empty()) {
    host.NextEvent(host.GetClock().Now() + std::chrono::milliseconds(5));
    strays = ProcessesNamed(testing::NameUnder("stray", getpid()));
  }
  const JobId starting = start(4, "silent", Elasticity::kRigid);
  host.Pause(starting);
  settle(starting);
  std::cout << OwnerName() << '\n' << strays.front() << '\n';
  for (const pid_t child : LivingChildrenOf(getpid())) {
    if (child != strays.front()) std::cout << child << '\n';
  }
  std::cout << std::endl;
  while (true) host.NextEvent(host.GetClock().Now() + std::chrono::seconds(1));
}

}  // namespace cosched
