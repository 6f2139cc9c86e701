// The command as a user meets it: exit codes, one message for each bad input, and no folder left
// behind by a refused experiment.

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <set>
#include <thread>

#include "engine/base/topology.h"
#include "experiments/hosts/podman.h"
#include "experiments/wire/control_socket.h"
#include "tests/engine/base/few_threads.h"
#include "tests/engine/base/xml_core_kinds.h"
#include "tests/experiments/cli/cli_fixture.h"
#include "tests/experiments/cli/noisy_experiment.h"
#include "tests/experiments/os/other_owners.h"
#include "tests/paths.h"

namespace cosched {
namespace {

// For a process that is to meet a full disk: writes beyond the limit fail in the same way, with
// another errno.
std::function<bool()> LimitFiles(rlim_t size) {
  return [size] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {size, size};
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
  };
}

// For a process that is to find no podman, wherever it looks: what stands there is no program.
bool HidePodman() {
  if (unshare(CLONE_NEWNS) != 0) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  for (const char* file : {"/usr/bin/podman", "/usr/local/bin/podman", "/bin/podman"}) {
    if (access(file, X_OK) == 0 && mount("/dev/null", file, nullptr, MS_BIND, nullptr) != 0) {
      return false;
    }
  }
  return true;
}

TEST_F(CliTest, BadInputIsOneMessageExitTwoAndNoFolder) {
  ExpectRefused({"run", "missing.toml"}, {"missing.toml", "No such file"});
  WriteText(folder_.path() / "unknown.toml", "name = \"x\"\ncolor = 1\npolicies = [\"strict\"]\n");
  ExpectRefused({"run", "unknown.toml"},
                {"unknown.toml:2", "color", "unknown key", "allowed: name"});
  ExpectRefused({"run", "x.toml", "--set", "trace.color=1"},
                {"command line", "trace.color", "unknown key"});
  ExpectRefused({"run", "x.toml", "--policy", "lottery"},
                {"policies.0", "lottery", "allowed", "max-prop"});
  ExpectRefused({"run", "x.toml", "--set", "workload.0.model=vgg"},
                {"workload.vgg.model", "resnet20"});
  ExpectRefused({"run", "x.toml", "--set", "trace.gap.mean_s=-1"},
                {"trace.gap.mean_s", "-1", "from 0"});
  ExpectRefused({"run", "x.toml", "--set", "machine.cores=0-4000"},
                {"machine.cores", "0-4000", "this machine"});
  ExpectRefused({"run", "x.toml", "--set", "workload.0.cores={min=2,preferred=1,max=1}"},
                {"cores.min", "min <= preferred"});
  ExpectRefused({"run", "x.toml", "--set", "workload=[]"}, {"workload", "there is none"});
  ExpectRefused({"run", "x.toml", "--backend", "cloud"}, {"backend", "hardware"});
  ExpectRefused({"run", "x.toml", "--trials", "0"}, {"trials", "from 1"});
  ExpectRefused({"run", "x.toml", "--resume"}, {"--resume", "no unfinished run"});
  WriteText(folder_.path() / "trace.csv", "arrival_s,workload\n0,lenet5\nsoon,lenet5\n");
  ExpectRefused({"run", "x.toml", "--set", "trace={file='trace.csv'}"},
                {"trace.csv:3", "arrival_s", "soon"});
}

TEST_F(CliTest, UnwritableOutputFolders) {
  // As root permissions stop nobody; a file in the way and /proc do.
  ExpectRefused({"run", "x.toml", "--out", "x.toml/results"},
                {"--out", "x.toml/results", "Not a directory"});
  ExpectRefused({"run", "x.toml", "--out", "/proc/results"}, {"--out", "/proc/results"});
}

TEST_F(CliTest, WrongUsageIsExitTwo) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"dance"},
                                                    {"run"},
                                                    {"run", "x.toml", "--fast"},
                                                    {"list", "colors"}}) {
    EXPECT_EQ(Run(arguments).exit_code, 2);
  }
  EXPECT_EQ(Run({"--help"}).exit_code, 0);
}

TEST_F(CliTest, ListsWhatAnExperimentMayName) {
  EXPECT_NE(Run({"list", "policies"}).out.find("policy.max-prop.order"), std::string::npos);
  EXPECT_NE(Run({"list", "models"}).out.find("resnet56"), std::string::npos);
  EXPECT_NE(Run({"list", "formats"}).out.find("arrival_s,workload"), std::string::npos);
  EXPECT_NE(Run({"--version"}).out.find("commit"), std::string::npos);
}

TEST_F(CliTest, DryRunPrintsThePlanAndRunsNothing) {
  const Ended ended = Run({"run", "x.toml", "--dry-run", "--trials", "2", "--policy", "strict",
                           "--policy", "max-prop"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("x: 4 cells"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("max-prop/malleable/2"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "results"));
}

// On a machine where nothing has been measured yet.
TEST_F(CliTest, DryRunWritesNothing) {
  const std::filesystem::path cache = folder_.path() / "cache";
  const auto with_cache = [&cache] {
    return setenv("COSCHED_CACHE", cache.c_str(), 1) == 0;  // NOLINT(concurrency-mt-unsafe)
  };
  const Ended ended = Wait(Start({"run", "x.toml", "--dry-run"}, with_cache));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("\nkernel_rates = \"measured\" "), std::string::npos) << ended.out;
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    names.insert(entry.path().filename());
  }
  EXPECT_EQ(names, (std::set<std::string>{"err", "out", "x.toml"}));
  const Ended refused =
      Wait(Start({"run", "x.toml", "--set", "machine.kernel_rates=kept"}, with_cache));
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("machine.kernel_rates"), std::string::npos) << refused.err;
}

TEST_F(CliTest, DoctorSaysWhatThisMachineOffers) {
  const Ended ended = Run({"doctor"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  for (const char* what : {"cores", "topology", "SMT", "NUMA", "governor", "SCHED_FIFO", "cgroups",
                           "containers", "second-level cache a core", "PSI", "plots", "memory"}) {
    EXPECT_NE(ended.out.find(what), std::string::npos) << what;
  }
}

// On a machine that hwloc is told of, by the child itself: after the fork it has one thread.
TEST_F(CliTest, DoctorKnowsKindsOfCores) {
  const auto file = folder_.path() / "hybrid.xml";
  WriteText(file, XmlWithCoreKinds(Topology::Synthetic("pack:1 core:8 pu:1"),
                                   {{{0, 1, 2, 3}, "CoreType", "IntelAtom"},
                                    {{4, 5, 6, 7}, "CoreType", "IntelCore"}}));
  const Ended ended = Wait(Start({"doctor"}, [&file] {
    return setenv("HWLOC_XMLFILE", file.c_str(), 1) == 0;  // NOLINT(concurrency-mt-unsafe)
  }));
  EXPECT_NE(ended.out.find("cores of 2 kinds: 4-7, slower 0-3"), std::string::npos)
      << ended.out << ended.err;
  EXPECT_NE(ended.out.find("[machine] cores = \"4-7\""), std::string::npos) << ended.out;
}

TEST_F(CliTest, DoctorCleansOnlyWhatEndedExperimentsLeft) {
  const AloneInCleaning alone;
  const Ended ended = Run({"doctor", "--clean"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  EXPECT_TRUE(ended.out.starts_with("removed ") || ended.out == "nothing was left behind\n")
      << ended.out;
  EXPECT_EQ(Run({"doctor", "--clean"}).out, "nothing was left behind\n");
}

TEST_F(CliTest, RunsAnExperimentInContainersWithSoundRecords) {
  if (const std::string why_not = WhyNoContainers(); !why_not.empty()) GTEST_SKIP() << why_not;
  const Ended ended = Run({"run", "x.toml", "--no-plots", "--backend", "container"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  ASSERT_EQ(Runs().size(), 1U);
  EXPECT_NE(ReadText(Runs()[0] / "manifest.json").find("\"backend\": \"container\""),
            std::string::npos);
  const std::string check =
      "python3 " + InSource("tests/check_results.py") + " '" + Runs()[0].string() + "' >/dev/null";
  EXPECT_EQ(std::system(check.c_str()), 0);
}

TEST_F(CliTest, TheRuntimesUpdateMovesContainersWhereAskedTo) {
  if (const std::string why_not = WhyNoContainers(); !why_not.empty()) GTEST_SKIP() << why_not;
  // The first job has both cores until the second comes, which takes one of them.
  const std::string cores = CoresOfThisMachine();
  const Ended ended =
      Run({"run", "x.toml", "--no-plots", "--backend", "container", "--policy", "equal-share",
           "--set", "container.actuation=runtime", "--set", "machine.cores=\"" + cores + "\"",
           "--set", "workload.0.steps=400", "--set", "workload.0.cores={min=1,preferred=2,max=2}"});
  ASSERT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  ASSERT_EQ(Runs().size(), 1U);
  const std::string moved =
      ReadText(Runs()[0] / "equal-share" / "malleable" / "1" / "actuations.csv");
  EXPECT_EQ(moved.find("cpuset"), std::string::npos) << moved;
  if (cores.find_first_of(",-") == std::string::npos) return;  // Nothing to share.
  EXPECT_NE(moved.find("runtime"), std::string::npos) << moved;
}

TEST_F(CliTest, MachinesWithoutPodmanAreToldWhatToInstall) {
  const Ended ended =
      Wait(Start({"run", "x.toml", "--no-plots", "--backend", "container"}, HidePodman));
  if (ended.exit_code == kNotPrepared) GTEST_SKIP() << "may not hide podman from a process";
  EXPECT_EQ(ended.exit_code, 2);
  for (const char* words : {"backend", "podman not found: apt-get install", "hardware"}) {
    EXPECT_NE(ended.err.find(words), std::string::npos) << ended.err;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "results"));
  const Ended doctor = Wait(Start({"doctor"}, HidePodman));
  EXPECT_EQ(doctor.exit_code, 0) << doctor.err;
  EXPECT_NE(doctor.out.find("podman not found: apt-get install"), std::string::npos) << doctor.out;
}

TEST_F(CliTest, ContainersAreMovedByTheirCgroupOnly) {
  if (const std::string why_not = WhyNoContainers(); !why_not.empty()) GTEST_SKIP() << why_not;
  const Ended ended =
      Run({"run", "x.toml", "--backend", "container", "--set", "machine.actuator=affinity"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("machine.actuator"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("cpuset, quota"), std::string::npos) << ended.err;
}

TEST_F(CliTest, RunsAnExperimentAndEndsWithTheComparison) {
  const Ended ended = Run({"run", "x.toml", "--no-plots"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  ASSERT_EQ(Runs().size(), 1U);
  const std::filesystem::path run = Runs()[0];
  EXPECT_NE(ended.out.find("strict"), std::string::npos);
  EXPECT_NE(ended.out.find(run.filename().string()), std::string::npos);
  EXPECT_NE(ended.err.find("[1/1] strict/malleable/1: 2 jobs in "), std::string::npos) << ended.err;
  EXPECT_TRUE(std::filesystem::exists(run / "summary.csv"));
  EXPECT_TRUE(std::filesystem::exists(run / "strict" / "malleable" / "1" / "jobs.csv"));
  EXPECT_NE(ReadText(run / "manifest.json").find("\"status\": \"done\""), std::string::npos);
}

// Hundreds of simulated cells a second are not a line each.
TEST_F(CliTest, OfShortCellsALineASecondIsToldAndTheLast) {
  WriteText(folder_.path() / "noisy.toml", NoisyExperiment("trials = 100\n"));
  const Ended ended = Run({"run", "noisy.toml", "--no-plots"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.err.find("[1/200] "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("[200/200] "), std::string::npos) << ended.err;
  EXPECT_LT(std::count(ended.err.begin(), ended.err.end(), '['), 200);
}

TEST_F(CliTest, InterferenceIsRecordedOnRequestOnly) {
  const auto file = [this] {
    return Runs().front() / "no-control" / "rigid" / "1" / "interference.csv";
  };
  const std::vector<std::string> arguments = {"run",
                                              "x.toml",
                                              "--no-plots",
                                              "--policy",
                                              "no-control",
                                              "--set",
                                              "elasticity=[\"rigid\"]",
                                              "--set",
                                              "workload.0.steps=300"};
  std::vector<std::string> alone = arguments;
  alone.insert(alone.end(), {"--set", "trace.jobs=1"});
  const Ended lone = Run(alone);
  ASSERT_EQ(lone.exit_code, 0) << lone.err;
  EXPECT_NE(lone.err.find(": 1 job in "), std::string::npos) << lone.err;
  ASSERT_EQ(Runs().size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(file()));
  const Ended none = Run({"compare", Runs().front().string(), "--no-plots", "--interference"});
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_NE(none.out.find("no cell here was run with --interference"), std::string::npos);
  std::filesystem::remove_all(folder_.path() / "results");

  std::vector<std::string> asking = arguments;
  asking.push_back("--interference");
  const Ended ended = Run(asking);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  ASSERT_EQ(Runs().size(), 1U);
  EXPECT_TRUE(ReadText(file()).starts_with("victim,culprit,waited_s\n")) << ReadText(file());
  const Ended table = Run({"compare", Runs().front().string(), "--no-plots", "--interference"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  // Both jobs share core 0, each with a thread that would compute all the time.
  EXPECT_NE(table.out.find("job 1 "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("job 0 "), std::string::npos) << table.out;
  const Ended plain = Run({"compare", Runs().front().string(), "--no-plots"});
  EXPECT_EQ(plain.out.find("victim"), std::string::npos) << plain.out;
}

TEST_F(CliTest, ASweepRunsAndComparesEachPoint) {
  const std::vector<std::string> arguments = {"run", "x.toml", "--no-plots", "--set",
                                              "sweep.workload.lenet5.threads=[1,2]"};
  std::vector<std::string> dry = arguments;
  dry.push_back("--dry-run");
  const Ended plan = Run(dry);
  EXPECT_NE(plan.out.find("x: 2 cells at 2 points"), std::string::npos) << plan.out << plan.err;
  EXPECT_NE(plan.out.find("threads=2/strict/malleable/1"), std::string::npos) << plan.out;
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "results"));

  const Ended ended = Run(arguments);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  ASSERT_EQ(Runs().size(), 1U);
  for (const char* point : {"threads=1", "threads=2"}) {
    EXPECT_NE(ended.out.find(point), std::string::npos) << ended.out;
    EXPECT_TRUE(std::filesystem::exists(Runs()[0] / point / "summary.csv"));
    EXPECT_EQ(Run({"compare", (Runs()[0] / point).string(), "--no-plots"}).exit_code, 0);
  }
  const Ended compared = Run({"compare", Runs()[0].string(), "--no-plots"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_NE(compared.out.find("threads=2"), std::string::npos) << compared.out;
}

// Of so many cells that the run is far from its end when the signal comes, also where this test had
// to wait for a core: with two cells the second could end in that time.
TEST_F(CliTest, AnInterruptedRunIsResumed) {
  constexpr size_t kTrials = 20;
  const std::vector<std::string> arguments = {"run",
                                              "x.toml",
                                              "--no-plots",
                                              "--trials",
                                              std::to_string(kTrials),
                                              "--set",
                                              "workload.lenet5.steps=60"};
  const pid_t pid = Start(arguments);
  const std::filesystem::path results = folder_.path() / "results" / "x";
  const auto cells = [&results] {
    std::vector<std::string> names;
    std::error_code ignored;
    for (auto entry = std::filesystem::recursive_directory_iterator(results, ignored);
         entry != std::filesystem::recursive_directory_iterator(); entry.increment(ignored)) {
      if (entry->path().parent_path().filename() == "malleable")
        names.push_back(entry->path().filename());
    }
    return names;
  };
  for (int i = 0; i < 6000 && cells().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(cells().empty()) << "no cell in a minute";
  kill(pid, SIGINT);
  const Ended interrupted = Wait(pid);
  EXPECT_EQ(interrupted.exit_code, 130) << interrupted.out << interrupted.err;
  EXPECT_LT(cells().size(), kTrials);
  EXPECT_NE(interrupted.err.find("--resume"), std::string::npos) << interrupted.err;

  std::vector<std::string> again = arguments;
  again.push_back("--resume");
  const Ended resumed = Run(again);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  ASSERT_EQ(Runs().size(), 1U);
  for (size_t i = 1; i <= kTrials; ++i) {
    EXPECT_TRUE(std::filesystem::exists(Runs()[0] / "strict" / "malleable" / std::to_string(i) /
                                        "cell.json"));
  }
  EXPECT_EQ(cells().size(), kTrials);
  EXPECT_EQ(Run(again).exit_code, 2) << "nothing is left to resume";
}

TEST_F(CliTest, AFullDiskIsExitOneAndNothingLooksWhole) {
  const Ended at_start = Wait(Start({"run", "x.toml", "--no-plots"}, LimitFiles(100)));
  EXPECT_EQ(at_start.exit_code, 1) << at_start.err;
  EXPECT_NE(at_start.err.find("manifest.json"), std::string::npos) << at_start.err;
  EXPECT_TRUE(Runs().empty());

  // The manifest fits, with its topology, and so do the counters that a tenant shares; the steps of
  // a cell do not.
  const Ended later = Wait(Start({"run", "x.toml", "--no-plots", "--set", "sampling.period_ms=1",
                                  "--set", "workload.0.steps=12000"},
                                 LimitFiles(rlim_t{600} * 1024)));
  EXPECT_EQ(later.exit_code, 1) << later.err;
  EXPECT_NE(later.err.find("--resume"), std::string::npos) << later.err;
  ASSERT_EQ(Runs().size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(Runs()[0] / "strict" / "malleable" / "1"));
  EXPECT_FALSE(std::filesystem::exists(Runs()[0] / "summary.csv"));
}

// A pool gets one of its threads and not the next: no word of a terminate.
TEST_F(CliTest, ThreadsThatCantBeStartedAreOneLineAndExitOne) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user of few threads";
  if (Topology::ThisMachine().OneThreadPerCore().Count() < 2) GTEST_SKIP() << "needs two cores";
  const std::vector<std::string> arguments = {"tenant", "--model=lenet5", "--steps=1",
                                              "--cores=" + CoresOfThisMachine(), "--inter=2"};
  const Ended ended = Wait(Start(arguments, [] { return AllowThreads(3); }));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_NE(ended.err.find("cosched: only "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("ulimit -u 3"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("terminate"), std::string::npos) << ended.err;
}

TEST_F(CliTest, TenantsOfASweepAreFoundByTheRunsName) {
  setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  const pid_t pid = Start({"run", "x.toml", "--no-plots", "--set", "workload.0.steps=1000000",
                           "--set", "sweep.workload.0.batch=[8,16]"});
  const auto found = [this] {
    try {
      return static_cast<bool>(ConnectToTenant(Runs().at(0).filename().string() + ":0"));
    } catch (const std::exception&) {
      return false;
    }
  };
  bool there = false;
  for (int i = 0; i < 600 && !(there = found()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(pid, SIGINT);
  const Ended ended = Wait(pid);
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_TRUE(there) << ended.err;
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
}

// As when two containers share the folder: whoever came first keeps the path, nobody fails.
TEST_F(CliTest, ATenantWithoutASocketOfItsOwnWorks) {
  setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  const std::vector<std::string> arguments = {"tenant", "--model=lenet5", "--steps=1"};
  const Ended ended = Wait(Start(arguments, [] {
    // A folder of this name: it is no socket, and not to be taken over.
    return !ControlDirectory().empty() &&
           std::filesystem::create_directory(ControlDirectory() / ControlName(getpid()));
  }));
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.err.find("no control socket: "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("is there and no socket"), std::string::npos) << ended.err;
  const Ended asked =
      Run({"tenant", "--model=lenet5", "--steps=1", "--control=" + (folder_.path()).string()});
  EXPECT_EQ(asked.exit_code, 2) << asked.err;
}

}  // namespace
}  // namespace cosched
