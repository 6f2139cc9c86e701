// Programs of others as tenants of a real host: they are moved, stopped, counted and ended with all
// that they start, whatever they do.

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"
#include "experiments/os/process_children.h"
#include "experiments/os/process_sampler.h"
#include "tests/experiments/hosts/process_host_fixture.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/native/real_tenant_fixture.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kSpin = "while :; do :; done";

class CommandTenantTest : public RealTenantTest {
 protected:
  CommandTenantTest() { options_.log_directory = folder_.path(); }

  static TenantSpec Shell(const std::string& script) {
    TenantSpec spec;
    spec.model.clear();
    spec.batch = 1;
    spec.steps = 0;
    spec.command.arguments = {"sh", "-c", script};
    return spec;
  }
  void Start(const TenantSpec& spec, Elasticity elasticity = Elasticity::kRigid) {
    RealTenantTest::Start(spec, elasticity, DefaultSplit(cores_.Count()));
  }
  HostEvent Await(Duration patience = kPatience) {
    const TimePoint until = Host().GetClock().Now() + patience;
    while (Host().GetClock().Now() < until) {
      const std::optional<HostEvent> event = Next(milliseconds(50));
      if (event && !std::holds_alternative<HostSettled>(*event)) return *event;
    }
    return HostFailed{job_, "the test's patience is over"};
  }
  void ExpectFinished() {
    const HostEvent event = Await();
    if (const auto* failed = std::get_if<HostFailed>(&event)) FAIL() << failed->reason << Log();
    EXPECT_TRUE(std::holds_alternative<HostFinished>(event));
  }
  std::string FailureOf() {
    const HostEvent event = Await();
    const auto* failed = std::get_if<HostFailed>(&event);
    return failed != nullptr ? failed->reason : "it did not fail";
  }
  std::string Log() {
    std::string text;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      text += "\n" + ReadText(entry.path());
    return text;
  }
  // All processes of the tenant but its own.
  std::vector<pid_t> Processes() {
    const std::vector<pid_t> tenants = LivingChildrenOf(getpid());
    EXPECT_EQ(tenants.size(), 1u);
    return tenants.empty() ? std::vector<pid_t>() : DescendantsOf(tenants.front());
  }
  static bool IsGoneOrZombie(pid_t process) {
    ProcessSampler sampler(process);
    return !sampler.Read() || sampler.Threads().front().state == 'Z';
  }
  void WaitForProcesses(size_t count) {
    const TimePoint until = Host().GetClock().Now() + kPatience;
    while (Processes().size() < count && Host().GetClock().Now() < until)
      EXPECT_FALSE(Next(milliseconds(10)));
    ASSERT_GE(Processes().size(), count);
  }
  bool AreAll(const CpuSet& cores, char state = '\0') {
    const Topology topology = Topology::ThisMachine();
    bool all = true;
    for (const pid_t process : Processes()) {
      ProcessSampler sampler(process);
      if (!sampler.Read()) continue;
      for (const ProcessSampler::Thread& thread : sampler.Threads()) {
        if (thread.state == 'Z') continue;  // Its parent, which is stopped, has not reaped it.
        all = all && cores.Contains(topology.ThreadBinding(thread.tid)) &&
              (state == '\0' || thread.state == state);
      }
    }
    return all;
  }

  const TemporaryFolder folder_;
};

TEST_F(CommandTenantTest, FinishesWithItsProgram) {
  Start(Shell("exit 0"));
  ExpectFinished();
}

TEST_F(CommandTenantTest, FailsWithItsProgram) {
  Start(Shell("exit 3"));
  EXPECT_EQ(FailureOf(), "its program exited with status 3");
}

TEST_F(CommandTenantTest, ASignalIsTold) {
  Start(Shell("kill -SEGV $$"));
  EXPECT_EQ(FailureOf(), "its program was killed by signal 11 (Segmentation fault)");
}

TEST_F(CommandTenantTest, AProgramThatIsNotThereIsTold) {
  TenantSpec spec = Shell("");
  spec.command.arguments = {"no-such-program"};
  Start(spec);
  EXPECT_NE(FailureOf().find("no-such-program: No such file"), std::string::npos);
}

TEST_F(CommandTenantTest, IsToldItsThreadsAndWhatItIs) {
  TenantSpec spec = Shell("test \"$OMP_NUM_THREADS $OPENBLAS_NUM_THREADS $A $PWD\" = \"2 2 2-7 " +
                          folder_.path().string() + "\" && test $1 = 5");
  spec.command.arguments.insert(spec.command.arguments.end(), {"sh", "{steps}"});
  spec.command.environment = {"A={threads}-{seed}"};
  spec.command.folder = folder_.path().string();
  spec.steps = 5;
  spec.seed = 7;
  if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  Start(spec);
  ExpectFinished();
}

TEST_F(CommandTenantTest, StepsAreCountedInWhatItPrints) {
  TenantSpec spec = Shell("for i in 1 2 3 4; do echo step $i; done; echo step >&2");
  spec.command.progress = {ProgressSource::Kind::kOutput, "^step"};
  spec.steps = 5;
  Start(spec);
  ExpectFinished();
  EXPECT_EQ(Host().TakeSteps().size(), 5u);
  EXPECT_NE(Log().find("step 4"), std::string::npos) << "what it prints is in its log";
}

TEST_F(CommandTenantTest, OneThatPrintsAllTheWhileIsLookedAt) {
  TenantSpec spec = Shell("yes step & yes step & exec yes step");
  spec.command.progress = {ProgressSource::Kind::kOutput, "^step"};
  Start(spec);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  ExpectSteps();
  Host().Stop(job_);
}

TEST_F(CommandTenantTest, StepsAreCountedInAFile) {
  TenantSpec spec = Shell("for i in 1 2 3; do echo $i > count; sleep 0.2; done");
  spec.command.progress = {ProgressSource::Kind::kFile, "count"};
  spec.command.folder = folder_.path().string();
  spec.batch = 4;
  Start(spec);
  ExpectFinished();
  const std::vector<StepSample> steps = Host().TakeSteps();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_GT(steps[2].finished, steps[0].finished);
}

// Its last step is not seen, or it did fewer: its end is what counts.
TEST_F(CommandTenantTest, AProgramThatDoesFewerStepsIsMarked) {
  TenantSpec spec = Shell("echo step");
  spec.command.progress = {ProgressSource::Kind::kOutput, "step"};
  spec.steps = 10;
  Start(spec);
  ExpectFinished();
  const std::vector<std::string> marks = Host().TakeMarks();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0], "job 1 ended after 1 of 10 steps");
}

// Also what has left its parent and its session.
TEST_F(CommandTenantTest, AllOfItIsMoved) {
  if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  Start(Shell("setsid sh -c '" + std::string(kSpin) + "' & (" + kSpin + ") & " + kSpin));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  ASSERT_NO_FATAL_FAILURE(WaitForProcesses(3));
  for (const CpuSet& cores : {one_, cores_, cores_ - one_}) {
    Host().Grant(job_, Place::Whole(cores, {1, cores.Count()}));
    ASSERT_NO_FATAL_FAILURE(ExpectSettled());
    EXPECT_TRUE(AreAll(cores)) << cores.ToString();
  }
  EXPECT_EQ(OnlySample().runnable_threads, 3);
}

TEST_F(CommandTenantTest, APauseStopsAllOfIt) {
  Start(Shell("(" + std::string(kSpin) + ") & " + kSpin));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  ASSERT_NO_FATAL_FAILURE(WaitForProcesses(2));
  Host().Pause(job_);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  EXPECT_TRUE(AreAll(cores_, 'T'));
  const Duration used = OnlySample().run_time;
  EXPECT_FALSE(Next(milliseconds(300)));
  EXPECT_EQ(OnlySample().run_time, used);
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  EXPECT_FALSE(Next(milliseconds(300)));
  EXPECT_GT(OnlySample().run_time, used);
  EXPECT_TRUE(AreAll(one_));
}

// A process a millisecond, each of which may be born of one that has not been moved or stopped yet.
TEST_F(CommandTenantTest, OneThatForksAllTheWhileIsMovedAndStopped) {
  Start(Shell("while :; do sh -c 'i=0; while [ $i -lt 200 ]; do i=$((i+1)); done' & wait; done"));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  for (int i = 0; i < 10; ++i) {
    Host().Grant(job_, Place::Whole(i % 2 == 0 ? one_ : cores_, {1, 1}));
    ASSERT_NO_FATAL_FAILURE(ExpectSettled());
    Host().Pause(job_);
    ASSERT_NO_FATAL_FAILURE(ExpectSettled());
    EXPECT_TRUE(AreAll(cores_, 'T')) << "pause " << i;
  }
}

TEST_F(CommandTenantTest, WhatBindsItselfElsewhereIsMovedBack) {
  if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  const std::string other = (cores_ - one_).ToString();
  Start(Shell("while :; do taskset -pc " + other + " $$ >/dev/null; sleep 0.05; done"));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  const TimePoint until = Host().GetClock().Now() + seconds(2);
  while (Host().GetClock().Now() < until) {
    const std::optional<HostEvent> event = Next(milliseconds(50));
    if (event) {
      ASSERT_TRUE(std::holds_alternative<HostSettled>(*event));
    }
  }
  Host().Stop(job_);
  const std::vector<std::string> marks = Host().TakeMarks();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_NE(marks[0].find("had bound itself to cores outside its grant"), std::string::npos);
}

TEST_F(CommandTenantTest, NothingOfItIsLeftWhenItEnds) {
  TenantSpec spec = Shell("setsid sh -c 'trap \"\" TERM HUP; echo $$ > left; " +
                          std::string(kSpin) + "' & while ! test -s left; do sleep 0.01; done");
  spec.command.folder = folder_.path().string();
  Start(spec);
  ExpectFinished();
  const pid_t left = std::atoi(ReadText((folder_.path() / "left").string()).c_str());
  ASSERT_GT(left, 0);
  EXPECT_TRUE(IsGoneOrZombie(left));
}

TEST_F(CommandTenantTest, NothingOfItIsLeftWhenItIsKilled) {
  TenantSpec spec =
      Shell("setsid sh -c 'trap \"\" TERM HUP; " + std::string(kSpin) + "' & " + kSpin);
  Start(spec);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  ASSERT_NO_FATAL_FAILURE(WaitForProcesses(2));
  const std::vector<pid_t> processes = Processes();
  std::vector<UniqueFd> ends;
  for (const pid_t process : processes)
    ends.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  Host().Stop(job_);
  // Killed when Stop returns: what is not its child dies when it next runs.
  for (const UniqueFd& process : ends) {
    pollfd end{process.get(), POLLIN, 0};
    ASSERT_EQ(poll(&end, 1, static_cast<int>(milliseconds(kPatience).count())), 1);
  }
}

// It may not speak for its tenant, nor get at its host.
TEST_F(CommandTenantTest, HasNoDescriptorButItsOwn) {
  TenantSpec spec = Shell("ls -l /proc/self/fd | grep -c 'socket\\|memfd' > count; true");
  spec.command.folder = folder_.path().string();
  Start(spec);
  ExpectFinished();
  EXPECT_EQ(ReadText((folder_.path() / "count").string()), "0\n");
}

// A client in Python; `loop`: what it does all the while.
TenantSpec PythonClient(const std::string& loop) {
  TenantSpec spec;
  spec.model.clear();
  spec.steps = 0;
  spec.command.arguments = {"/usr/bin/python3", "-c",
                            "import sys, time\n"
                            "sys.path.insert(0, '" +
                                InSource("experiments/client") + "')\n" +
                                "import cosched\n"
                                "client = cosched.connect()\n"
                                "while True:\n    " +
                                loop + "\n"};
  spec.command.client = CommandClient::kLibrary;
  spec.command.progress.kind = ProgressSource::Kind::kClient;
  return spec;
}

TEST_F(CommandTenantTest, AClientFollowsItsGrants) {
  if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  Start(PythonClient("client.poll(); time.sleep(0.01); sum(range(10000)); client.step(2)"),
        Elasticity::kMalleable);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  ExpectSteps();
  Host().TakeResizes();
  for (const CpuSet& cores : {one_, cores_}) {
    Host().Grant(job_, Place::Whole(cores, {1, cores.Count()}));
    ASSERT_NO_FATAL_FAILURE(ExpectSettled());
    std::vector<ResizeSample> resizes;
    while (resizes.empty()) {
      ASSERT_FALSE(Next(milliseconds(10)));
      resizes = Host().TakeResizes();
    }
    ASSERT_EQ(resizes.size(), 1u);
    EXPECT_EQ(resizes[0].cause, "grant");
    EXPECT_EQ(resizes[0].after, (Split{1, cores.Count()}));
    EXPECT_EQ(resizes[0].cores, cores);
    EXPECT_LT(resizes[0].taken, seconds(60));
  }
  const TenantSample sample = OnlySample();
  EXPECT_EQ(sample.images, 2 * sample.steps);
  EXPECT_EQ(sample.compute_threads, 2);
}

// Whatever its client could do: it has the threads that it asked for, though it starts on fewer cores.
TEST_F(CommandTenantTest, ARigidOneHasItsThreadsOnFewerCores) {
  const std::string polls = (folder_.path() / "polls").string();
  Job job;
  job.id = job_;
  job.request = {1, 2, 2};
  job.elasticity = Elasticity::kRigid;
  // "threads" in braces would be replaced, as in any command.
  Host().Describe(job_, PythonClient("told = client.poll(); told and open('" + polls +
                                     "', 'a').write(f'{told} '); time.sleep(0.01); client.step()"));
  Host().Start(job, Place::Whole(one_, {1, 2}));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  ExpectSteps();
  EXPECT_EQ(ReadText(polls), "2 ");
}

TEST_F(CommandTenantTest, AClientThatNeverConnectsIsMarked) {
  if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  TenantSpec spec = Shell("read line < '" + (folder_.path() / "gate").string() + "'");
  spec.command.client = CommandClient::kLibrary;
  spec.command.progress.kind = ProgressSource::Kind::kClient;
  spec.steps = 5;
  ASSERT_EQ(mkfifo((folder_.path() / "gate").c_str(), 0600), 0);
  Start(spec, Elasticity::kMalleable);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  for (const ResizeSample& resize : Host().TakeResizes())
    EXPECT_EQ(resize.after, DefaultSplit(cores_.Count()));  // That it was started with.
  std::ofstream(folder_.path() / "gate") << "go\n";
  ExpectFinished();
  const std::vector<std::string> marks = Host().TakeMarks();
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_NE(marks[0].find("never connected to its client"), std::string::npos) << marks[0];
  EXPECT_EQ(marks[1], "job 1 ended after 0 of 5 steps");
}

// It sets its own number of threads, more than there are cores: it is left alone, and told so.
TEST_F(CommandTenantTest, AProgramThatTurnsOutToBeRigidIsMarked) {
  if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  TenantSpec spec = Shell("");
  spec.command.arguments = {InBuild(COSCHED_OPENMP_PROGRAM), "set", "200000"};
  spec.command.client = CommandClient::kOpenMp;
  spec.command.preload = InBuild(COSCHED_OPENMP_LIBRARY);
  Start(spec, Elasticity::kMalleable);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  while (Log().find("stay as they are") == std::string::npos) ASSERT_FALSE(Next(milliseconds(10)));
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ASSERT_NO_FATAL_FAILURE(ExpectSettled());
  std::vector<ResizeSample> resizes;
  while (resizes.empty() || resizes.back().after == (Split{1, 1})) {
    ASSERT_FALSE(Next(milliseconds(10)));
    for (ResizeSample& resize : Host().TakeResizes()) resizes.push_back(resize);
  }
  EXPECT_EQ(resizes.back().after, (Split{1, 3}));
  ExpectFinished();
  const std::vector<std::string> marks = Host().TakeMarks();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0], "job 1 is rigid: it kept its 3 threads, whatever was granted");
}

}  // namespace
}  // namespace cosched
