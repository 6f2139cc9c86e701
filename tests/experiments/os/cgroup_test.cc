#include "experiments/os/cgroup.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <system_error>

#include "engine/base/topology.h"
#include "experiments/os/owner.h"
#include "tests/experiments/os/other_owners.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

// A process that waits to be killed, as tests need something to confine.
class Sleeper {
 public:
  Sleeper() : pid_(fork()) {
    while (pid_ == 0) pause();
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

CpuSet AffinityOf(pid_t process) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  EXPECT_EQ(sched_getaffinity(process, sizeof cpus, &cpus), 0);
  CpuSet result;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &cpus)) result.Add(cpu);
  return result;
}

std::string NameHere(const std::string& suffix) { return OwnerName() + "-" + suffix; }

// Which kernel this is decides between versions 1 and 2; both must pass.
class RealCgroup : public testing::Test {
 protected:
  void SetUp() override {
    support_ = Cgroup::Probe();
    if (!support_.cpuset) GTEST_SKIP() << "no cgroup can be made here: " << support_.why_not;
  }
  const AloneInCleaning alone_;
  Cgroup::Support support_;
  const CpuSet all_ = Topology::ThisMachine().Cpus();
};

TEST_F(RealCgroup, ConfinesAProcessThatEntersAndMovesItWithOneWrite) {
  Cgroup group = Cgroup::Create(NameHere("1"), all_);
  const Sleeper sleeper;
  group.Attach(sleeper.pid());
  EXPECT_EQ(CpusetPathOf(sleeper.pid()), group.Path());
  EXPECT_EQ(group.Cores(), all_);
  const CpuSet one{all_.First()};
  group.SetCores(one);
  EXPECT_EQ(AffinityOf(sleeper.pid()), one);
  EXPECT_EQ(group.Cores(), one);
  group.SetCores(all_);
  EXPECT_EQ(group.Cores(), all_);
}

TEST_F(RealCgroup, IsEnteredThroughItsDoorsByAChildThatMayOnlyWrite) {
  const CpuSet one{all_.First()};
  Cgroup group = Cgroup::Create(NameHere("2"), one);
  const std::vector<int> doors = group.Doors();
  const pid_t child = fork();
  if (child == 0) {
    for (const int door : doors)
      if (write(door, "0", 1) != 1) _exit(1);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    _exit(sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1 ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RealCgroup, IsRemovedWithItsObjectAndCanBeMadeAgain) {
  for (int i = 0; i < 3; ++i) {
    const Cgroup group = Cgroup::Create(NameHere("3"), all_, support_.quota);
    EXPECT_TRUE(group.Path().ends_with("/cosched/" + NameHere("3"))) << group.Path();
  }
  EXPECT_EQ(CpusetPathOf(getpid()).find(NameHere("3")), std::string::npos);
}

TEST_F(RealCgroup, FindsTheGroupOfAProcessAndLeavesItInPlace) {
  Cgroup group = Cgroup::Create(NameHere("4"), all_);
  const Sleeper sleeper;
  group.Attach(sleeper.pid());
  {
    Cgroup found = Cgroup::Of(sleeper.pid());
    found.SetCores(CpuSet{all_.First()});
  }
  EXPECT_EQ(group.Cores(), CpuSet{all_.First()});
}

TEST_F(RealCgroup, RefusesCoresThatTheMachineDoesNotHave) {
  Cgroup group = Cgroup::Create(NameHere("5"), all_);
  EXPECT_THROW(group.SetCores(CpuSet{CpuSet::kMaxCpu}), std::system_error);
  EXPECT_EQ(group.Cores(), all_);
}

TEST_F(RealCgroup, AQuotaThrottlesAProcessThatWantsMore) {
  if (!support_.quota) GTEST_SKIP() << support_.why_not;
  Cgroup group = Cgroup::Create(NameHere("6"), all_, true);
  group.SetLimit(CpuLimit{{20}});
  const pid_t spinner = fork();
  while (spinner == 0) getppid();
  group.Attach(spinner);
  while (group.Read().throttled.value_or(Duration(1)) == Duration(0)) usleep(1000);
  group.SetLimit({});
  kill(spinner, SIGKILL);
  waitpid(spinner, nullptr, 0);
  EXPECT_TRUE(group.Read().throttled.has_value());
}

TEST_F(RealCgroup, WithoutAQuotaThereIsNoThrottledTime) {
  Cgroup group = Cgroup::Create(NameHere("7"), all_);
  EXPECT_THROW(group.SetLimit(CpuLimit{{1000}}), std::system_error);
}

TEST_F(RealCgroup, CleansWhatEndedHostsLeftBehindAndNothingElse) {
  const std::string ended = EndedOwner() + "-9";
  Cgroup left = Cgroup::Create(ended, all_);
  Cgroup mine = Cgroup::Create(NameHere("8"), all_);
  const pid_t inside = fork();
  while (inside == 0) pause();
  left.Attach(inside);
  const std::vector<std::string> removed = Cgroup::Clean().removed;
  int status = 0;
  EXPECT_EQ(waitpid(inside, &status, 0), inside);
  EXPECT_TRUE(WIFSIGNALED(status));
  const auto is_about = [&removed](const std::string& name) {
    return std::any_of(removed.begin(), removed.end(),
                       [&name](const std::string& path) { return path.ends_with("/" + name); });
  };
  EXPECT_TRUE(is_about(ended));
  EXPECT_FALSE(is_about(NameHere("8")));
  EXPECT_EQ(mine.Cores(), all_);
}

// The text about a group in what a cleaning left; "" if there is none.
std::string LeftOf(const Cleaned& cleaned, const std::string& name) {
  for (const std::string& text : cleaned.left)
    if (text.find("/" + name + ": ") != std::string::npos) return text;
  return "";
}

TEST_F(RealCgroup, CleaningLeavesWhoeverMayLiveElsewhere) {
  for (const std::string& owner : {OwnerElsewhere(), OldEndedOwner()}) {
    const std::string name = owner + "-10";
    Cgroup group = Cgroup::Create(name, all_);
    const Sleeper sleeper;
    group.Attach(sleeper.pid());
    EXPECT_NE(LeftOf(Cgroup::Clean(), name).find("PID namespace"), std::string::npos) << name;
    EXPECT_EQ(waitpid(sleeper.pid(), nullptr, WNOHANG), 0) << "was killed";
    EXPECT_EQ(CpusetPathOf(sleeper.pid()), group.Path());
  }
}

TEST_F(RealCgroup, CleaningLeavesAnotherUsersProcess) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a process of another user";
  const std::string name = EndedOwner() + "-11";
  Cgroup group = Cgroup::Create(name, all_);
  const pid_t other = fork();
  if (other == 0) {
    if (setuid(54321) != 0) _exit(1);
    while (true) pause();
  }
  group.Attach(other);
  const auto user_of = [](pid_t process) {
    const std::string status = ReadText("/proc/" + std::to_string(process) + "/status");
    return std::atoi(status.c_str() + status.find("Uid:") + 4);
  };
  while (user_of(other) != 54321) usleep(1000);
  EXPECT_NE(LeftOf(Cgroup::Clean(), name).find("of user 54321"), std::string::npos);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0) << "was killed";
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

TEST_F(RealCgroup, AnOwnersGroupsAreRemovedWithWhatIsInside) {
  const std::string owner = EndedOwner(), other = EndedOwner();
  Cgroup group = Cgroup::Create(owner + "-12", all_), kept = Cgroup::Create(other + "-12", all_);
  const pid_t inside = fork();
  while (inside == 0) pause();
  group.Attach(inside);
  Cgroup::RemoveOf(owner);
  EXPECT_EQ(waitpid(inside, nullptr, 0), inside);
  EXPECT_THROW(Cgroup::Of(inside), std::system_error);
  EXPECT_EQ(kept.Cores(), all_);
}

// Such a process can't be killed until it is thawed, as one that waits for a broken disk.
TEST_F(RealCgroup, KillingWhatDoesNotDieIsGivenUp) {
  const fs::path freezer = "/sys/fs/cgroup/freezer/cosched-test-" + std::to_string(getpid());
  std::error_code error;
  if (!fs::create_directory(freezer, error)) GTEST_SKIP() << "no version 1 freezer";
  Cgroup group = Cgroup::Create(NameHere("13"), all_);
  const pid_t frozen = fork();
  while (frozen == 0) pause();
  group.Attach(frozen);
  std::ofstream(freezer / "cgroup.procs") << frozen;
  std::ofstream(freezer / "freezer.state") << "FROZEN";
  while (ReadText(freezer / "freezer.state") != "FROZEN\n") usleep(1000);
  EXPECT_FALSE(group.Kill(std::chrono::milliseconds(100)));
  std::ofstream(freezer / "freezer.state") << "THAWED";
  EXPECT_EQ(waitpid(frozen, nullptr, 0), frozen);
  EXPECT_TRUE(group.Kill());
  fs::remove(freezer, error);
}

// A folder that looks like a cgroup v2 hierarchy; the kernel's part is played by files.
class FakeVersion2 : public testing::Test {
 protected:
  void SetUp() override {
    mounts_.v2 = CgroupMounts::Mount{"/", folder_.path() / "fs"};
    mounts_.proc = folder_.path() / "proc";
    mounts_.systemd = folder_.path() / "systemd";
    WriteText(mounts_.proc / "pressure" / "cpu", "some avg10=0.00 avg60=0.00 total=42\n");
    WriteText(Root() / "cgroup.controllers", "cpuset cpu memory\n");
    WriteText(Root() / "cgroup.subtree_control", "");
    WriteText(mounts_.proc / "self" / "cgroup", "0::/\n");
    WriteText(Root() / "cosched" / "cgroup.subtree_control", "cpuset\n");
    FillGroup(Root() / "cosched" / "4711.1-3");
  }
  static void FillGroup(const fs::path& group) {
    for (const char* file : {"cgroup.procs", "cpuset.cpus", "cpuset.cpus.effective", "cpu.max"})
      WriteText(group / file, "");
    WriteText(group / "cpu.stat", "usage_usec 7\nnr_throttled 2\nthrottled_usec 1500\n");
    WriteText(group / "cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=42\nfull …\n");
  }
  fs::path Root() const { return mounts_.v2->point; }
  // This process and another are in it.
  void EnterGroup(const std::string& group) {
    WriteText(mounts_.proc / "self" / "cgroup", "0::" + group + "\n");
    const fs::path folder = Root() / group.substr(1);
    WriteText(folder / "cgroup.type", "domain\n");
    WriteText(folder / "cgroup.controllers", "cpuset cpu memory\n");
    WriteText(folder / "cgroup.subtree_control", "");
    WriteText(folder / "cgroup.procs", "10\n11\n");
    WriteText(folder / "harness" / "cgroup.procs", "");
    WriteText(folder / "cosched" / "cgroup.subtree_control", "");
    FillGroup(folder / "cosched" / "4711.1-3");
  }
  // As systemd marks it; false where the file system has no attributes.
  bool Delegate(const std::string& group) const {
    fs::create_directories(mounts_.systemd);
    return setxattr((Root() / group.substr(1)).c_str(), "user.delegate", "1", 1, 0) == 0;
  }
  // Every folder and file with its text.
  std::map<std::string, std::string> Everything() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      all[entry.path().string()] = entry.is_regular_file() ? ReadText(entry.path()) : "";
    }
    return all;
  }

  TemporaryFolder folder_;
  CgroupMounts mounts_;
};

TEST_F(FakeVersion2, WritesTheFilesOfOneGroup) {
  Cgroup group = Cgroup::Create("4711.1-3", CpuSet{0}, true, mounts_);
  const fs::path folder = Root() / "cosched" / "4711.1-3";
  EXPECT_EQ(group.Path(), "/cosched/4711.1-3");
  EXPECT_EQ(ReadText(Root() / "cgroup.subtree_control"), "+cpu");  // The last one enabled.
  EXPECT_EQ(ReadText(Root() / "cosched" / "cgroup.subtree_control"), "+cpu");
  EXPECT_EQ(ReadText(folder / "cpuset.cpus"), "0");
  group.SetCores(CpuSet{0, 1, 2, 5});
  EXPECT_EQ(ReadText(folder / "cpuset.cpus"), "0-2,5");
  group.SetLimit(CpuLimit{{1500}});
  EXPECT_EQ(ReadText(folder / "cpu.max"), "150000 100000");
  group.SetLimit({});
  EXPECT_EQ(ReadText(folder / "cpu.max"), "max 100000");
  group.Attach(123);
  EXPECT_EQ(ReadText(folder / "cgroup.procs"), "123");
  EXPECT_EQ(group.Doors().size(), 1u);  // One hierarchy, one group.
}

TEST_F(FakeVersion2, ReadsWhatTheKernelCounts) {
  const Cgroup group = Cgroup::Create("4711.1-3", CpuSet{0}, true, mounts_);
  EXPECT_EQ(group.Read().throttled, Duration(1'500'000));
  EXPECT_EQ(group.Read().pressure, Duration(42'000));
  EXPECT_EQ(group.Read().used, Duration(7'000));
  WriteText(Root() / "cosched" / "4711.1-3" / "cpuset.cpus.effective", "1-3\n");
  EXPECT_EQ(group.Cores(), CpuSet::Range(1, 3));
}

TEST_F(FakeVersion2, FindsTheGroupOfAContainer) {
  WriteText(mounts_.proc / "99" / "cgroup", "0::/machine.slice/libpod-1234.scope\n");
  FillGroup(Root() / "machine.slice" / "libpod-1234.scope");
  Cgroup group = Cgroup::Of(99, mounts_);
  EXPECT_EQ(group.Path(), "/machine.slice/libpod-1234.scope");
  EXPECT_EQ(CpusetPathOf(99, mounts_), group.Path());
  group.SetCores(CpuSet{1});
  EXPECT_EQ(ReadText(Root() / "machine.slice" / "libpod-1234.scope" / "cpuset.cpus"), "1");
  EXPECT_THROW(Cgroup::Of(98, mounts_), std::system_error);
}

// The kernel tells a process of another PID namespace as 0, which to kill(2) is the caller's group.
TEST_F(FakeVersion2, CleaningSignalsNothingThatCantBeSeen) {
  const std::string owner = EndedOwner();
  FillGroup(Root() / "cosched" / (owner + "-3"));
  WriteText(Root() / "cosched" / (owner + "-3") / "cgroup.procs", "0\n0\n");
  const pid_t cleaner = fork();
  if (cleaner == 0) {
    setpgid(0, 0);  // Or the whole test would go with it.
    const Cleaned cleaned = Cgroup::Clean(mounts_);
    const bool told =
        cleaned.left.size() == 2 &&
        LeftOf(cleaned, owner + "-3").find("another PID namespace") != std::string::npos;
    _exit(told && cleaned.removed.empty() ? 0 : 1);  // The other is the old "4711.1-3".
  }
  int status = -1;
  waitpid(cleaner, &status, 0);
  EXPECT_FALSE(WIFSIGNALED(status)) << "the cleaner has killed itself";
  EXPECT_EQ(status, 0);
}

// A process that is listed, but has gone by the second look, or was never there.
TEST_F(FakeVersion2, KillingLooksForEachBeforeItSignals) {
  const Sleeper bystander;
  WriteText(Root() / "cosched" / "4711.1-3" / "cgroup.procs", "-1\n0\n");
  const Cgroup group = Cgroup::Create("4711.1-3", CpuSet{0}, false, mounts_);
  EXPECT_FALSE(group.Kill(std::chrono::milliseconds(50)));
  EXPECT_EQ(waitpid(bystander.pid(), nullptr, WNOHANG), 0);
}

TEST_F(FakeVersion2, ProbingWritesAndMakesNothing) {
  fs::remove_all(Root() / "cosched");
  fs::create_directories(mounts_.systemd);
  for (const char* group : {"/", "/user.slice/session-1.scope"}) {
    if (std::string(group) != "/") EnterGroup(group);
    const auto before = Everything();
    const Cgroup::Support support = Cgroup::Probe(mounts_);
    EXPECT_EQ(Everything(), before);
    EXPECT_TRUE(support.cpuset && support.quota && support.pressure) << support.why_not;
    EXPECT_EQ(support.where, Root() / "cosched");
  }
}

// A group with processes can't give controllers to children, so they go to a child first.
TEST_F(FakeVersion2, ADelegatedGroupIsDivided) {
  EnterGroup("/user.slice/run-1.scope");
  if (!Delegate("/user.slice/run-1.scope")) GTEST_SKIP() << "no extended attributes in /tmp";
  const fs::path own = Root() / "user.slice" / "run-1.scope";
  EXPECT_EQ(Cgroup::Probe(mounts_).where, own / "cosched");
  EXPECT_EQ(Cgroup::Probe(mounts_).remedy, "");
  const Cgroup group = Cgroup::Create("4711.1-3", CpuSet{0}, false, mounts_);
  EXPECT_EQ(group.Path(), "/user.slice/run-1.scope/cosched/4711.1-3");
  EXPECT_EQ(ReadText(own / "harness" / "cgroup.procs"), "11");  // One a write: the last of them.
  EXPECT_EQ(ReadText(own / "cgroup.subtree_control"), "+cpuset");
  EXPECT_EQ(ReadText(own / "cosched" / "cgroup.subtree_control"), "+cpuset");
  EXPECT_EQ(ReadText(Root() / "cgroup.subtree_control"), "");
}

// The user's systemd is asked: before version 254 it leaves no mark.
TEST_F(FakeVersion2, AUsersSystemdTellsWhatItHasDelegated) {
  const std::string manager = "/user@" + std::to_string(geteuid()) + ".service";
  EnterGroup(manager + "/run-1.scope");
  fs::create_directories(mounts_.systemd);
  const fs::path systemctl = folder_.path() / "bin" / "systemctl";
  WriteText(systemctl,
            "#!/bin/sh\n[ \"$*\" = '--user show --property=Delegate --value -- run-1.scope' ] && "
            "echo yes\n");
  fs::permissions(systemctl, fs::perms::owner_all);
  const std::string path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): no other thread.
  setenv("PATH", (systemctl.parent_path().string() + ":" + path).c_str(), 1);  // NOLINT: as above.
  EXPECT_EQ(Cgroup::Probe(mounts_).where, Root() / manager.substr(1) / "run-1.scope" / "cosched");
  WriteText(systemctl, "#!/bin/sh\necho no\n");
  EXPECT_EQ(Cgroup::Probe(mounts_).where, Root() / "cosched");
  setenv("PATH", path.c_str(), 1);  // NOLINT: as above.
}

// Who is in "harness" has been moved there by a run that was started from the same shell.
TEST_F(FakeVersion2, TheNextRunFindsTheDividedGroup) {
  EnterGroup("/run-1.scope");
  if (!Delegate("/run-1.scope")) GTEST_SKIP() << "no extended attributes in /tmp";
  WriteText(Root() / "run-1.scope" / "cgroup.subtree_control", "cpuset cpu\n");
  WriteText(mounts_.proc / "self" / "cgroup", "0::/run-1.scope/harness\n");
  const Cgroup group = Cgroup::Create("4711.1-3", CpuSet{0}, true, mounts_);
  EXPECT_EQ(group.Path(), "/run-1.scope/cosched/4711.1-3");
  EXPECT_EQ(ReadText(Root() / "run-1.scope" / "harness" / "cgroup.procs"), "");
}

TEST_F(FakeVersion2, WhatIsNotDelegatedIsLeftAlone) {
  EnterGroup("/user.slice/session-1.scope");
  fs::create_directories(mounts_.systemd);
  const Cgroup::Support support = Cgroup::Probe(mounts_);
  EXPECT_NE(support.remedy.find("Delegate=yes"), std::string::npos) << support.remedy;
  const Cgroup group = Cgroup::Create("4711.1-3", CpuSet{0}, false, mounts_);
  EXPECT_EQ(group.Path(), "/cosched/4711.1-3");
  const fs::path own = Root() / "user.slice" / "session-1.scope";
  EXPECT_EQ(ReadText(own / "cgroup.subtree_control"), "");
  EXPECT_EQ(ReadText(own / "harness" / "cgroup.procs"), "");
}

// Whose group is the top of what it sees, and not the machine's.
TEST_F(FakeVersion2, AContainerHasAllOfItsHierarchy) {
  EnterGroup("/");
  const Cgroup group = Cgroup::Create("4711.1-3", CpuSet{0}, false, mounts_);
  EXPECT_EQ(group.Path(), "/cosched/4711.1-3");
  EXPECT_EQ(ReadText(Root() / "harness" / "cgroup.procs"), "11");
}

TEST_F(FakeVersion2, AUserIsToldHowToGetAGroup) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  EnterGroup("/user.slice/session-1.scope");
  fs::create_directories(mounts_.systemd);
  fs::permissions(Root(), fs::perms::owner_read | fs::perms::owner_exec);
  const Cgroup::Support support = Cgroup::Probe(mounts_);
  fs::permissions(Root(), fs::perms::owner_all);
  EXPECT_FALSE(support.cpuset);
  EXPECT_NE(support.why_not.find("session-1.scope is not delegated"), std::string::npos);
  EXPECT_NE(support.remedy.find("systemd-run --user"), std::string::npos) << support.remedy;
  EXPECT_NE(support.remedy.find("user@.service.d"), std::string::npos) << support.remedy;
}

TEST_F(FakeVersion2, SaysWhatIsMissing) {
  WriteText(Root() / "cgroup.controllers", "memory\n");
  const Cgroup::Support support = Cgroup::Probe(mounts_);
  EXPECT_FALSE(support.cpuset);
  EXPECT_NE(support.why_not.find("there is no cpuset controller"), std::string::npos);
}

TEST(CgroupMountsTest, ReadsVersion1AndVersion2Mounts) {
  const CgroupMounts mounts = CgroupMounts::Parse(
      "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
      "34 31 0:31 /docker/7 /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
      "42 31 0:39 / /tmp rw - tmpfs tmpfs rw\n");
  EXPECT_EQ(mounts.v1.at("cpu").point, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(mounts.v1.at("cpuacct").point, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(mounts.v1.at("cpuset").root, "/docker/7");
  ASSERT_TRUE(mounts.v2.has_value());
  EXPECT_EQ(mounts.v2->point, "/sys/fs/cgroup/unified");
  EXPECT_FALSE(CgroupMounts::Parse("").v2.has_value());
}

TEST(OwnerTest, KnowsItselfAndThoseThatAreGone) {
  EXPECT_TRUE(IsOwnerName(OwnerName()));
  EXPECT_EQ(OwnerName().find('-'), std::string::npos);
  EXPECT_EQ(StateOfOwner(OwnerName()), OwnerState::kLives);
  EXPECT_EQ(UserOfOwner(OwnerName()), geteuid());
  EXPECT_EQ(StateOfOwner(EndedOwner()), OwnerState::kGone);
  for (const char* other : {"", ".", "12", "12.", ".5", "a.5", "12.5x", "12.5.0123abcd.9",
                            "12.5.0123abc.9.0", "12.5.0123abcg.9.0", "12.5.0123abcd.9.0.1"})
    EXPECT_FALSE(IsOwnerName(other)) << other;
}

TEST(OwnerTest, TheSameNumberGivenAgainIsAnother) {
  std::string name = OwnerName();
  name.insert(name.find('.') + 1, "1");
  EXPECT_EQ(StateOfOwner(name), OwnerState::kGone);
}

TEST(OwnerTest, TheLastBootsOwnersAreGone) {
  std::string name = OwnerName();
  const size_t boot = name.find('.', name.find('.') + 1) + 1;
  name[boot] = name[boot] == '0' ? '1' : '0';
  EXPECT_EQ(StateOfOwner(name), OwnerState::kGone);
}

TEST(OwnerTest, WhoCantBeSeenIsNotCalledGone) {
  EXPECT_EQ(StateOfOwner(OwnerElsewhere()), OwnerState::kElsewhere);
  EXPECT_EQ(StateOfOwner(OldEndedOwner()), OwnerState::kUnknown);
  const std::string name = OwnerName();
  EXPECT_EQ(StateOfOwner(name.substr(0, name.find('.', name.find('.') + 1))), OwnerState::kLives);
}

}  // namespace
}  // namespace cosched
