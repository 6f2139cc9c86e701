// A real tenant of several ranks, each a process that mpirun starts: they share its calls and its
// cores, follow its grants, and end together. Skipped where this build or this machine has no MPI.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engine/mpi/mpi_link.h"
#include "experiments/hosts/ranked_tenant.h"
#include "experiments/os/find_program.h"
#include "experiments/os/owner.h"
#include "tests/native/real_tenant_fixture.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// What /proc/PID/status says behind the word; "" if the process is gone.
std::string StatusOf(int process, const std::string& word) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(word + ":")) continue;
    std::istringstream fields(line.substr(word.size() + 1));
    std::string value;
    fields >> value;
    return value;
  }
  return {};
}

std::vector<int> ChildrenWith(int parent, const std::string& in_command) {
  std::vector<int> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int process = std::atoi(entry.path().filename().c_str());
    if (process <= 0 || StatusOf(process, "PPid") != std::to_string(parent)) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string command(std::istreambuf_iterator<char>(file), {});
    if (command.find(in_command) != std::string::npos) children.push_back(process);
  }
  std::ranges::sort(children);
  return children;
}

bool AnyFolderOfRanks() {
  const std::string owner = "-" + std::to_string(getpid()) + ".";
  for (const auto& entry : std::filesystem::directory_iterator(RanksFolders())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("cosched-ranks") && name.find(owner) != std::string::npos) return true;
  }
  return false;
}

class RanksTest : public RealTenantTest {
 protected:
  void SetUp() override {
    if (!HasMpi()) GTEST_SKIP() << "this build has no MPI (Debian: libopenmpi-dev)";
    if (FindProgram("mpirun").empty()) GTEST_SKIP() << "no mpirun here (Debian: openmpi-bin)";
    options_.sample_threads = true;
  }
  void Run(int ranks, const IncrementSettings& increment) {
    TenantSpec spec;
    spec.model = spec.pipeline.application = "increment";
    spec.pipeline.ranks = ranks;
    spec.pipeline.open = {.open = 3, .open_max = 3};
    spec.pipeline.increment = increment;
    spec.mode = Mode::kInfer;
    spec.serves = true;
    spec.steps = 0;
    Start(spec, Elasticity::kMalleable, {cores_.Count(), cores_.Count()});
    ExpectSettled();
    mpirun_ = ChildrenWith(getpid(), "mpirun");
    ASSERT_EQ(mpirun_.size(), 1u);
    ranks_ = ChildrenWith(mpirun_.front(), "tenant");
    ASSERT_EQ(std::ssize(ranks_), ranks);
  }
  void Ask(int count) {
    for (int i = 0; i < count; ++i)
      Host().Send(job_, {.id = next_id_++, .scheduled = Host().GetClock().Now(), .work = 1});
  }
  void Collect() {
    for (const RequestSample& sample : Host().TakeRequests()) {
      EXPECT_TRUE(answered_.insert(sample.id).second) << sample.id;
      EXPECT_FALSE(sample.failed) << sample.id;
    }
  }
  void ExpectAnswered(size_t count) {
    for (int i = 0; i < 3000 && answered_.size() < count; ++i) {
      const std::optional<HostEvent> event = Next(milliseconds(20));
      if (event && std::holds_alternative<HostFailed>(*event))
        FAIL() << std::get<HostFailed>(*event).reason;
      Collect();
    }
    EXPECT_EQ(answered_.size(), count);
  }
  // It goes on. REQUIRES: there is enough to do.
  void ExpectCalls() {
    const auto calls = [this] {
      int64_t sum = 0;
      for (const StageCounters& stage : Host().Pipeline(job_).stages) sum += stage.calls;
      return sum;
    };
    const int64_t before = calls();
    for (int i = 0; i < 3000 && calls() < before + 4; ++i) {
      const std::optional<HostEvent> event = Next(milliseconds(5));
      if (event && std::holds_alternative<HostFailed>(*event))
        FAIL() << std::get<HostFailed>(*event).reason;
      Collect();
    }
    EXPECT_GE(calls(), before + 4);
  }
  void Grant(const CpuSet& cores) {
    Host().Grant(job_, Place::Whole(cores, DefaultSplit(cores.Count())));
    ExpectSettled();
    Collect();
  }
  void ExpectFinished() {
    Host().Drain(job_);
    const std::optional<HostEvent> event = Next(seconds(60));
    ASSERT_TRUE(event);
    EXPECT_TRUE(std::holds_alternative<HostFinished>(*event));
  }
  // Processes in which a thread of the pools has computed.
  std::set<std::string> Computed() {
    std::set<std::string> processes;
    for (const ThreadSample& thread : OnlySample().threads) {
      if (thread.compute && thread.run_time > milliseconds(1))
        processes.insert(StatusOf(thread.tid, "Tgid"));
    }
    return processes;
  }

  int64_t next_id_ = 0;
  std::set<int64_t> answered_;
  std::vector<int> mpirun_, ranks_;
};

TEST_F(RanksTest, TheyMakeTheCallsTogether) {
  Run(2, {.stages = 2, .items = 20, .work = milliseconds(2)});
  Ask(8);
  ExpectAnswered(8);
  EXPECT_EQ(Computed().size(), std::min(cores_.Count(), 2));
  const PipelineCounters counters = Host().Pipeline(job_);
  for (const StageCounters& stage : counters.stages) {
    EXPECT_EQ(stage.calls, 160);
    EXPECT_EQ(stage.taken, 160);
    EXPECT_GE(stage.busy, milliseconds(320));
  }
  // All of their time is the tenant's.
  EXPECT_GE(OnlySample().run_time, milliseconds(640));
  ExpectFinished();
  for (const int rank : ranks_) EXPECT_EQ(StatusOf(rank, "State"), "");
  EXPECT_FALSE(AnyFolderOfRanks());
}

// On one core the other rank pauses; that none of its threads is elsewhere, the host sees to.
TEST_F(RanksTest, TheyFollowGrantsAndLoseNothing) {
  if (cores_.Count() < 2) GTEST_SKIP() << "one core";
  Run(2, {.stages = 2, .items = 60, .work = milliseconds(3)});
  Ask(6);
  for (int i = 0; i < 4; ++i) {
    ExpectCalls();
    Grant(one_);
    for (const ThreadSample& thread : OnlySample().threads)
      EXPECT_TRUE(one_.Contains(thread.cores)) << thread.cores.ToString();
    ExpectCalls();
    Grant(cores_);
  }
  Host().Pause(job_);
  ExpectSettled();
  for (const int rank : ranks_) EXPECT_EQ(StatusOf(rank, "State"), "T");
  const std::vector<StageCounters> paused = Host().Pipeline(job_).stages;
  EXPECT_FALSE(Next(milliseconds(200)));
  EXPECT_EQ(Host().Pipeline(job_).stages, paused);
  Grant(cores_);
  ExpectAnswered(6);
  for (const StageCounters& stage : Host().Pipeline(job_).stages) EXPECT_EQ(stage.taken, 360);
  ExpectFinished();
}

// No rank computes, but all of their threads are where the host wants them.
TEST_F(RanksTest, PausedByAPersonTheyStillFollowTheirHost) {
  if (cores_.Count() < 2) GTEST_SKIP() << "one core";
  options_.run = OwnerName() + "ranks";
  Run(2, {.stages = 2, .items = 20, .work = milliseconds(1)});
  ASSERT_TRUE(Steer(ControlRequest::Verb::kPause));
  for (const CpuSet& cores : {one_, cores_ - one_}) {
    ASSERT_NO_FATAL_FAILURE(Grant(cores));
    for (const ThreadSample& thread : OnlySample().threads)
      EXPECT_TRUE(cores.Contains(thread.cores)) << thread.cores.ToString();
  }
  ASSERT_NO_FATAL_FAILURE(Grant(cores_));
  ASSERT_TRUE(Steer(ControlRequest::Verb::kResume));
  Ask(4);
  ExpectAnswered(4);
  ExpectFinished();
}

// 0: mpirun; n: the rank that was started as the n-th.
class KilledRankTest : public RanksTest, public testing::WithParamInterface<int> {};

TEST_P(KilledRankTest, TheTenantFailsWithAReasonAndNothingStays) {
  Run(3, {.stages = 2, .items = 1000, .work = milliseconds(5)});
  Ask(3);
  EXPECT_FALSE(Next(milliseconds(100)));
  EXPECT_TRUE(AnyFolderOfRanks());
  const auto victim = static_cast<size_t>(GetParam());
  ASSERT_EQ(kill(victim == 0 ? mpirun_.front() : ranks_[victim - 1], SIGKILL), 0);
  const std::optional<HostEvent> event = Next(seconds(30));
  ASSERT_TRUE(event);
  ASSERT_TRUE(std::holds_alternative<HostFailed>(*event));
  const std::string reason = std::get<HostFailed>(*event).reason;
  EXPECT_TRUE(
      reason.find("gone") != std::string::npos || reason.find("ended") != std::string::npos ||
      reason.find("killed") != std::string::npos || reason.find("closed") != std::string::npos)
      << reason;
  for (const int rank : ranks_)
    EXPECT_TRUE(StatusOf(rank, "State").find_first_of("RSD") == std::string::npos);
  EXPECT_TRUE(ChildrenWith(mpirun_.front(), "tenant").empty());
  EXPECT_FALSE(AnyFolderOfRanks());
}

INSTANTIATE_TEST_SUITE_P(EachProcess, KilledRankTest, testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace cosched
