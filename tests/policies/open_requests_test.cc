// How many requests of a pipeline may be open, from a policy's decision to the host.

#include <gtest/gtest.h>

#include "tests/policies/arbiter_fixture.h"

namespace cosched {
namespace {

Run Opening(std::variant<int, CpuSet, Share> cores, std::optional<int> open) {
  return {.cores = std::move(cores), .split = {}, .open_requests = open};
}

class OpenRequestsTest : public ArbiterTest {
 protected:
  OpenRequestsTest() {
    Job job = MakeJob(0, {1, 2, 4});
    job.service = ServiceId{0};
    job.open_range = {.at_start = 3, .most = 8};
    machine_.Submit(job);
  }
  void Start(std::optional<int> open = {}) {
    Decide({{{0}, Opening(CpuSet{0, 1}, open)}});
    machine_.SettleAll();
    machine_.observer.Take();
    TakeLog();
  }
  const JobView& View() { return *machine_.arbiter.View().Find({0}); }
  int Told() { return machine_.host.jobs.at({0}).asked.open_requests; }
};

TEST_F(OpenRequestsTest, BeginsWithWhatItStartsWith) {
  EXPECT_EQ(View().open_requests, 3);
  Start();
  EXPECT_EQ(Told(), 3);
}

TEST_F(OpenRequestsTest, AStartMaySayAnotherNumber) {
  Start(8);
  EXPECT_EQ(Told(), 8);
  EXPECT_EQ(View().open_requests, 8);
}

TEST_F(OpenRequestsTest, AGrantCarriesTheNumberAndTheRecordsShowIt) {
  Start();
  Decide({{{0}, Opening(2, 4)}});
  EXPECT_EQ(TakeLog(), "grant 0 0-1 2x2");
  EXPECT_EQ(Told(), 4);
  EXPECT_EQ(View().open_requests, 4);
  EXPECT_EQ(machine_.observer.Take("tick"), "tick -> 0=0-1/4");
}

TEST_F(OpenRequestsTest, LeftOutItStays) {
  Start(5);
  Decide({{{0}, Opening(3, {})}});
  EXPECT_EQ(Told(), 5);
  EXPECT_EQ(machine_.observer.Take("tick"), "tick -> 0=0-2");
  machine_.SettleAll();
  TakeLog();
  Decide({{{0}, Opening(3, 5)}});
  EXPECT_EQ(TakeLog(), "") << "it has them all";
}

TEST_F(OpenRequestsTest, ItStaysDuringAPauseAndAfterIt) {
  Start(5);
  Decide({{{0}, Pause{}}});
  machine_.SettleAll();
  EXPECT_EQ(View().state, JobState::kPaused);
  EXPECT_EQ(View().open_requests, 5);
  Decide({{{0}, Opening(1, {})}});
  machine_.SettleAll();
  EXPECT_EQ(Told(), 5);
}

TEST_F(OpenRequestsTest, ItGoesWithCoresThatAreKeptWhileOthersAreAwaited) {
  SubmitRunning(1, {2, 3});
  Start();
  Decide({{{0}, Opening(CpuSet{1, 2}, 6)}, {{1}, Cores(CpuSet{3})}});
  EXPECT_EQ(TakeLog(), "grant 0 1 1x1; grant 1 3 1x1");
  EXPECT_EQ(Told(), 6);
  machine_.Settle(0);
  machine_.Settle(1);
  EXPECT_EQ(TakeLog(), "grant 0 1-2 2x2");
  EXPECT_EQ(Told(), 6);
}

TEST_F(OpenRequestsTest, ItGoesWithAShare) {
  Decide({{{0}, Opening(Share{.amount = {1500}}, 7)}});
  EXPECT_EQ(TakeLog(), "start 0 0-3 2x2 share 1500");
  EXPECT_EQ(Told(), 7);
  EXPECT_EQ(machine_.observer.Take("tick"), "tick -> 0=1.5@0/7");
}

TEST_F(OpenRequestsTest, OnlyPipelinesHaveThem) {
  SubmitRunning(1, {2, 3});
  ExpectViolation({{{1}, Opening(2, 1)}}, "job 1: is no pipeline, which has open requests");
  EXPECT_EQ(machine_.arbiter.View().Find({1})->open_requests, 0);
  EXPECT_EQ(machine_.host.jobs.at({1}).asked.open_requests, 0);
}

TEST_F(OpenRequestsTest, FromOneToTheMost) {
  Start();
  for (const int open : {0, -1, 9}) {
    ExpectViolation({{{0}, Opening(2, open)}},
                    "job 0: " + std::to_string(open) + " open requests are not 1 to its 8");
  }
  Decide({{{0}, Opening(2, 1)}});
  EXPECT_EQ(Told(), 1);
}

TEST(SplitOn, CallsOfAPipelineComputeSideBySide) {
  Job job = MakeJob(1, {1, 2, 4});
  EXPECT_EQ(job.SplitOn(3), (Split{1, 3}));
  job.open_range = OpenRange();
  EXPECT_EQ(job.SplitOn(3), (Split{3, 3}));
  EXPECT_EQ(job.SplitOn(1), (Split{1, 1}));
}

}  // namespace
}  // namespace cosched
