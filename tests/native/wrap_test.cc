// cosched wrap -- CMD: any program, steered from outside as a tenant is.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/topology.h"
#include "experiments/os/process_children.h"
#include "experiments/os/process_sampler.h"
#include "experiments/tenant/demand.h"
#include "experiments/wire/control_socket.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/native/cosched_command.h"
#include "tests/native/quota_group.h"
#include "tests/paths.h"

namespace cosched {
namespace {

std::vector<std::string> Wrapped(const std::string& script, std::vector<std::string> options = {}) {
  options.insert(options.begin(), "wrap");
  options.insert(options.end(), {"--", "sh", "-c", script});
  return options;
}

TEST(WrapTest, EndsAsItsProgram) {
  const CommandOutcome run =
      CoschedCommand(Wrapped("echo said; echo complained >&2; exit 7")).End();
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_EQ(run.output, "said\n");
  EXPECT_NE(run.errors.find("complained\n"), std::string::npos) << run.errors;
  EXPECT_NE(run.errors.find("cosched: steer it with: cosched ctl "), std::string::npos);
  EXPECT_EQ(CoschedCommand(Wrapped("kill -9 $$")).End().exit_code, 128 + 9);
}

TEST(WrapTest, CountsItsSteps) {
  const CommandOutcome run =
      CoschedCommand(Wrapped("echo step 1; echo step 12", {"--progress", "output:step ([0-9]+)"}))
          .End();
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.output, "step 1\nstep 12\n");
  EXPECT_NE(run.errors.find("cosched: 12 steps, "), std::string::npos) << run.errors;
}

TEST(WrapTest, AClientThatNeverConnectedIsTold) {
  const CommandOutcome run = CoschedCommand(Wrapped("true", {"--client", "library"})).End();
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(run.errors.find("cosched: it never connected to its client"), std::string::npos)
      << run.errors;
  EXPECT_EQ(CoschedCommand(Wrapped("true")).End().errors.find("cosched: it "), std::string::npos);
}

TEST(WrapTest, ItsFirstThreadsAreThoseThatItsQuotaHasTimeFor) {
  const int cores = Topology::ThisMachine().OneThreadPerCore().Count();
  QuotaGroup quota("wraptest");
  if (!quota.group) GTEST_SKIP() << Cgroup::Probe().why_not;
  const std::string all = std::to_string(cores);
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "1"}, {{"--follow", "keep"}, all}, {{"--threads", all}, all}};
  for (const auto& [options, threads] : cases) {
    const CommandOutcome run = CoschedCommand(Wrapped("echo $OMP_NUM_THREADS", options), [&quota] {
                                 quota.Enter();
                               }).End();
    EXPECT_EQ(run.output, threads + "\n") << run.errors;
  }
}

// With or without "--".
TEST(WrapTest, WhatFollowsTheProgramIsTheProgramsOwn) {
  CoschedCommand wrapped({"wrap", "sh", "-c", "exit $#", "sh", "--steps", "2", "--", "-h"});
  EXPECT_EQ(wrapped.End().exit_code, 4);
}

TEST(WrapTest, BadInputExitsWithTwo) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"wrap"}, "command"},
      {{"wrap", "--", "no-such-program"}, "no-such-program: No such file"},
      {Wrapped("true", {"--progress", "output:("}), "--progress"},
      {Wrapped("true", {"--cores", "9999"}), "--cores"},
      {Wrapped("true", {"--client", "gpu"}), "--client"},
      {Wrapped("true", {"--progress", "regions"}),
       "--progress: is \"regions\", which nobody counts; allowed: that with client \"openmp\""},
      {Wrapped("true", {"--threads", "0"}), "--threads"}};
  for (const auto& [arguments, words] : cases) {
    const CommandOutcome run = CoschedCommand(arguments).End();
    EXPECT_EQ(run.exit_code, 2) << words;
    EXPECT_NE(run.errors.find(words), std::string::npos) << run.errors;
  }
}

class WrapCtlTest : public ::testing::Test {
 protected:
  void Begin(const std::string& script, std::vector<std::string> options = {}) {
    options.insert(options.end(), {"--cores", all_.ToString()});
    wrapped_.emplace(Wrapped(script, options));
    Until([this] {
      try {
        return static_cast<bool>(ConnectToTenant(Target())) &&
               Ctl({"status"}).output.find(all_.ToString()) != std::string::npos;
      } catch (const InputError&) {
        return false;
      }
    });
  }
  std::string Target() const { return std::to_string(wrapped_->pid()); }
  CommandOutcome Ctl(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"ctl", Target()});
    return CoschedCommand(std::move(arguments)).End();
  }
  // Every thread of all its processes.
  bool AreAll(const CpuSet& cores, char state = '\0') const {
    for (const pid_t process : DescendantsOf(wrapped_->pid())) {
      ProcessSampler sampler(process);
      if (!sampler.Read()) continue;
      for (const ProcessSampler::Thread& thread : sampler.Threads()) {
        if (!cores.Contains(topology_.ThreadBinding(thread.tid))) return false;
        if (state != '\0' && thread.state != state) return false;
      }
    }
    return true;
  }

  const Topology topology_ = Topology::ThisMachine();
  const CpuSet all_ = FirstCores(topology_.OneThreadPerCore(), 2), one_ = FirstCores(all_, 1);
  std::optional<CoschedCommand> wrapped_;
};

TEST_F(WrapCtlTest, IsMovedPausedResumedAndStopped) {
  Begin("(while :; do :; done) & while :; do :; done");
  EXPECT_TRUE(AreAll(all_));
  CommandOutcome run = Ctl({"set", "cores=" + one_.ToString()});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_TRUE(AreAll(one_));
  EXPECT_EQ(Ctl({"pause"}).exit_code, 0);
  // One that waits for the core stops when it would have it.
  Until([this] { return AreAll(one_, 'T'); });
  EXPECT_EQ(Ctl({"resume"}).exit_code, 0);
  EXPECT_FALSE(AreAll(one_, 'T'));
  run = Ctl({"set", "intra=1"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.errors.find("it has no client: only its cores can be set"), std::string::npos)
      << run.errors;
  EXPECT_EQ(Ctl({"stop"}).output, "stopping\n");
  const CommandOutcome ended = wrapped_->End();
  EXPECT_EQ(ended.exit_code, 128 + SIGTERM);
  EXPECT_NE(ended.errors.find("cosched: on core " + one_.ToString() + ", by ctl, in "),
            std::string::npos)
      << ended.errors;
  EXPECT_NE(ended.errors.find("cosched: paused, by ctl, in "), std::string::npos);
}

TEST_F(WrapCtlTest, WhatIsPausedCanBeStopped) {
  Begin("while :; do :; done");
  EXPECT_EQ(Ctl({"pause"}).exit_code, 0);
  EXPECT_EQ(Ctl({"stop"}).output, "stopping\n");
  EXPECT_EQ(wrapped_->End().exit_code, 128 + SIGTERM);
}

TEST_F(WrapCtlTest, EndsWithWhoWrapsIt) {
  Begin("while :; do :; done");
  const std::vector<pid_t> processes = DescendantsOf(wrapped_->pid());
  ASSERT_FALSE(processes.empty());
  kill(wrapped_->pid(), SIGKILL);
  for (const pid_t process : processes) {
    Until([process] {  // Who takes in orphans may be this process, which does not reap.
      ProcessSampler sampler(process);
      return !sampler.Read() || sampler.Threads().front().state == 'Z';
    });
  }
}

TEST_F(WrapCtlTest, AClientIsToldHowManyThreadsToHave) {
  if (all_.Count() < 2) GTEST_SKIP() << "needs two cores";
  const TemporaryFolder folder;
  const std::filesystem::path connected = folder.path() / "connected";
  wrapped_.emplace(std::vector<std::string>{
      "wrap", "--client", "library", "--cores", all_.ToString(), "--", "/usr/bin/python3", "-c",
      "import sys, time\n"
      "sys.path.insert(0, '" +
          InSource("experiments/client") + "')\n" +
          "import cosched\n"
          "client = cosched.connect()\n"
          "while True:\n"
          "    threads = client.poll(); time.sleep(0.002)\n"
          "    if threads: print(threads, flush=True); open('" +
          connected.string() + "', 'w')\n"});
  Until([&] { return std::filesystem::exists(connected); });
  // Each is answered when it was followed.
  for (const CpuSet& cores : {one_, all_})
    EXPECT_EQ(Ctl({"set", "cores=" + cores.ToString()}).exit_code, 0);
  EXPECT_EQ(Ctl({"set", "intra=1"}).exit_code, 0);
  EXPECT_EQ(Ctl({"stop"}).output, "stopping\n");
  const CommandOutcome ended = wrapped_->End();
  EXPECT_EQ(ended.output, "2\n1\n2\n1\n");
  EXPECT_NE(ended.errors.find("cosched: 1 thread on core " + one_.ToString() + ", by ctl, in "),
            std::string::npos)
      << ended.errors;
}

}  // namespace
}  // namespace cosched
