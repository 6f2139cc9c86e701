// A host of fake tenants (fake_tenant.h): how it counts their threads.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/experiments/hosts/process_host_fixture.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(ProcessHostTest, MoreThreadsThatComputeThanCoresAreMisconduct) {
  if (two_.Count() < 2) GTEST_SKIP() << "needs two cores for a capacity of two";
  const JobId job = Start("greedy", one_);
  ExpectSettled(job);
  EXPECT_EQ(Failure(job), "runs 2 compute threads on 1 cores");
}

// Each of them has far less than a fiftieth of the core.
TEST_F(ProcessHostTest, ManyThreadsOnOneCoreAreMisconductHoweverLittleEachRuns) {
  options_.sample_threads = true;
  Job job = JobOf(Elasticity::kMalleable);
  job.threads = Split{1, 64};
  Start(job, "greedy", one_);
  ExpectSettled(job.id);
  const TimePoint patience = Host().GetClock().Now() + seconds(20);
  int most = 0;
  std::optional<HostEvent> event;
  while (!(event = Next(milliseconds(50))) && Host().GetClock().Now() < patience)
    most = std::max(most, OnlySample().runnable_threads);
  ASSERT_TRUE(event && std::holds_alternative<HostFailed>(*event));
  EXPECT_EQ(std::get<HostFailed>(*event).reason, "runs 64 compute threads on 1 cores");
  EXPECT_EQ(most, 64);
}

// Two threads of which one always spins, on two cores: one is runnable, and one core is used.
TEST_F(ProcessHostTest, SpinningIsNeitherWorkNorUse) {
  if (two_.Count() < 2) GTEST_SKIP() << "needs two cores for a capacity of two";
  options_.sample_threads = true;
  for (const Elasticity elasticity : {Elasticity::kMalleable, Elasticity::kRigid}) {
    const JobId job = Start("patient", two_, kForever, elasticity);
    ExpectSettled(job);
    TenantSample sample;
    Duration least{0}, most{0};  // CPU time of the two.
    const TimePoint patience = Host().GetClock().Now() + seconds(20);
    while (least < milliseconds(200) && Host().GetClock().Now() < patience) {
      EXPECT_FALSE(Next(milliseconds(20)));
      sample = OnlySample();
      EXPECT_LE(sample.runnable_threads, 1);
      least = Duration::max();
      most = Duration(0);
      for (const ThreadSample& thread : sample.threads) {
        if (!thread.compute) continue;
        least = std::min(least, thread.run_time);
        most = std::max(most, thread.run_time);
      }
    }
    ASSERT_GE(least, milliseconds(200));
    EXPECT_EQ(sample.run_time, least + most);
    EXPECT_GE(sample.spin_time, least * 9 / 10);
    EXPECT_LE(sample.spin_time, most + milliseconds(20));  // Which the kernel adds up at its ticks.
    Host().Stop(job);
    OnlySample();  // The job's last.
  }
}

// As one that would go to sleep, but does not get its turn to do so on a crowded machine: a thread
// of idle priority beside one that always computes.
TEST_F(ProcessHostTest, ThreadsThatOnlyWaitForTheirTurnAreNoMisconduct) {
  const JobId job = Start("drowsy", one_);
  ExpectSettled(job);
  EXPECT_FALSE(Next(seconds(2)));
  ExpectStepsBeyond(OnlySample().steps);
}

}  // namespace
}  // namespace cosched
