// What could be seen at an instant, from rows that are made up.

#include "experiments/watch/cell_story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cosched {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

GrantRow Grant(double time, int64_t job, const char* kind, CpuSet cores = {}) {
  const int count = cores.Count();
  return {.time = time,
          .job_id = job,
          .kind = kind,
          .cores = cores,
          .owned = cores,
          .threads = count,
          .amount = static_cast<double>(count),
          .owned_amount = static_cast<double>(count)};
}

SampleRow Sampled(double time, int64_t job, int runnable, int64_t steps, int64_t images) {
  return {.time = time,
          .job_id = job,
          .granted_cores = {0},
          .granted = 1,
          .runnable_threads = runnable,
          .steps = steps,
          .images = images,
          .amount = 1};
}

RequestRow Asked(double sent, double dispatched, double finished, int64_t job = 9) {
  return {.job_id = job,
          .service = "web",
          .scheduled = sent,
          .sent = sent,
          .dispatched = RecordedTime(dispatched),
          .finished = RecordedTime(finished),
          .state = "served",
          .device = ""};
}

// Job 1 has both cores, gives one to job 2 at 4 s and has both again when that ends at 6 s.
CellStory TwoJobs() {
  CellStory story;
  story.Add(Grant(1, 1, "submitted"));
  story.Add(Grant(2, 1, "granted", {0, 1}));
  story.Add(Grant(3, 2, "submitted"));
  story.Add(Grant(4, 1, "granted", {0}));
  story.Add(Grant(4, 2, "granted", {1}));
  story.Add(Grant(6, 2, "released"));
  story.Add(Grant(6, 1, "granted", {0, 1}));
  return story;
}

CellMoment At(const CellStory& story, double time) { return story.At(time, 10, 10); }

std::vector<std::string> MovesIn(const CellMoment& moment) {
  std::vector<std::string> moves;
  for (const DecisionMoment& decision : moment.decisions)
    moves.push_back(decision.event + ": " + decision.moves);
  return moves;
}

TEST(CellStoryTest, EachInstantHasTheJobsAndCoresOfThen) {
  const CellStory story = TwoJobs();
  EXPECT_EQ(At(story, 0.5).came, 0);

  const CellMoment waits = At(story, 1.5);
  ASSERT_EQ(waits.tenants.size(), 1u);
  EXPECT_EQ(waits.tenants[0].state, TenantState::kWaits);
  EXPECT_EQ(waits.tenants[0].since, 1);
  EXPECT_EQ(waits.waiting, 1);
  EXPECT_TRUE(waits.granted.Empty());

  const CellMoment shared = At(story, 5);
  EXPECT_EQ(shared.running, 2);
  ASSERT_EQ(shared.tenants.size(), 2u);
  EXPECT_EQ(shared.tenants[0].cores, CpuSet({0}));
  EXPECT_EQ(shared.tenants[1].cores, CpuSet({1}));
  EXPECT_EQ(shared.tenants[1].since, 4);

  const CellMoment alone = At(story, 6);
  EXPECT_EQ(alone.ended, 1);
  ASSERT_EQ(alone.tenants.size(), 1u);
  EXPECT_EQ(alone.tenants[0].cores, CpuSet({0, 1}));
  EXPECT_EQ(story.End(), 6);
}

TEST(CellStoryTest, AJobWithoutCoresIsPausedAndStandsBehindThoseThatRun) {
  CellStory story = TwoJobs();
  story.Add(Grant(7, 3, "submitted"));
  story.Add(Grant(8, 3, "granted", {0, 1}));
  story.Add(Grant(8, 1, "granted"));
  const CellMoment moment = At(story, 8);
  ASSERT_EQ(moment.tenants.size(), 2u);
  EXPECT_EQ(moment.tenants[0].job, 3);
  EXPECT_EQ(moment.tenants[1].state, TenantState::kPaused);
  EXPECT_EQ(moment.paused, 1);
}

TEST(CellStoryTest, OversubscriptionIsThreadsThatWantToRunOverDistinctCores) {
  CellStory story;
  story.Add(Grant(0, 1, "granted", {0, 1}));
  story.Add(Grant(0, 2, "granted", {1, 2}));
  EXPECT_EQ(At(story, 1).Oversubscription(), std::nullopt);
  story.Add(Sampled(1, 1, 4, 0, 0));
  story.Add(Sampled(1, 2, 2, 0, 0));
  story.Add(Sampled(2, 1, 1, 0, 0));
  EXPECT_THAT(At(story, 1.5).Oversubscription(), Optional(1.0));  // 6 threads on 3 cores.
  EXPECT_THAT(At(story, 2).Oversubscription(), Optional(0.5));    // The mean of 4 and 1, and 2.
  EXPECT_THAT(At(story, 0).Oversubscription(),
              Optional(1.0));  // A first sample counts from the start.
  story.Add(Grant(2, 1, "granted", {0}));
  EXPECT_THAT(At(story, 2).Oversubscription(), Optional(0.0));  // Only since the latest grant.
}

TEST(CellStoryTest, SpeedIsOfTheLastTwoSecondsOrOfAWholeStep) {
  CellStory story;
  story.Add(Grant(0, 1, "granted", {0}));
  for (int i = 1; i <= 100; ++i) {
    const double time = i * 0.1;
    const int64_t steps =
        i <= 50 ? i : 50 + (i - 50) / 40;  // Ten a second, then one in four seconds.
    story.Add(Sampled(time, 1, 1, steps, steps * 32));
  }
  EXPECT_THAT(At(story, 4).tenants[0].per_second, Optional(DoubleNear(320, 1)));
  EXPECT_EQ(At(story, 4).tenants[0].steps, 40);
  EXPECT_THAT(At(story, 10).tenants[0].per_second, Optional(DoubleNear(32 / 2.0, 9)));
  EXPECT_GT(At(story, 10).tenants[0].per_second, 0);
}

TEST(CellStoryTest, StepsAreCountedWhereThereAreNoImages) {
  CellStory story;
  story.Add(Grant(0, 1, "granted", {0}));
  story.Add(Sampled(2, 1, 1, 6, 0));
  EXPECT_EQ(At(story, 2).tenants[0].unit, SpeedUnit::kSteps);
  EXPECT_THAT(At(story, 2).tenants[0].per_second, Optional(3.0));
}

TEST(CellStoryTest, DecisionsSayWhatTheyMovedLatestFirst) {
  CellStory story = TwoJobs();
  const auto add = [&story](int64_t number, double time, const char* event, const char* moves) {
    story.Add(DecisionRow{.decision = number, .time = time, .event = event, .allocation = moves});
  };
  add(1, 2, "job-arrived 1", "1=0-1");
  add(3, 6, "job-finished 2", "1=0-1");
  add(2, 4, "job-arrived 2", "1=0 2=1");  // Settled later than the one before.
  add(4, 6.5, "tick", "");
  add(5, 7, "window-over", "1=pause 5=reject");
  EXPECT_THAT(MovesIn(At(story, 6.5)),
              ElementsAre("job 2 ended: job 1: 1 -> 2 cores",
                          "job 2 came: job 1: 2 -> 1 core; job 2 starts on 1",
                          "job 1 came: job 1 starts on 0-1"));
  ASSERT_TRUE(At(story, 6.5).asked);
  EXPECT_EQ(At(story, 6.5).asked->event, "tick");
  EXPECT_EQ(MovesIn(At(story, 7)).front(), "window over: job 1 pauses; job 5 is rejected");
  EXPECT_FALSE(At(story, 7).asked);
  EXPECT_THAT(MovesIn(At(story, 1)), IsEmpty());
}

TEST(CellStoryTest, ThreadsThatChangeOnTheSameCoresAreTold) {
  CellStory story;
  const auto grant = [&story](double time, int threads, CpuSet cores) {
    GrantRow row = Grant(time, 1, "granted", cores);
    row.threads = threads;
    story.Add(row);
  };
  grant(0, 4, {0, 1});
  grant(2, 1, {0, 1});
  grant(3, 0, {});  // Until they are free.
  grant(3.5, 1, {2, 3});
  grant(4, 3, {2});
  const auto decide = [&story](int64_t second, const char* what) {
    story.Add(DecisionRow{.decision = second,
                          .time = static_cast<double>(second),
                          .event = "tick",
                          .allocation = what});
  };
  decide(0, "1=0-1");
  decide(2, "1=0-1");
  decide(3, "1=2-3");
  decide(4, "1=2");
  decide(5, "1=2");
  EXPECT_THAT(MovesIn(At(story, 5)),
              ElementsAre("tick: job 1 keeps 2", "tick: job 1: 2 -> 1 core, 1 -> 3 threads",
                          "tick: job 1 moves to 2-3", "tick: job 1: 4 -> 1 thread, still on 0-1",
                          "tick: job 1 starts on 0-1, 4 threads"));
}

// Its row comes when all its grants have settled.
TEST(CellStoryTest, ADecisionThatIsBeingCarriedOutIsTold) {
  CellStory story = TwoJobs();
  story.Add(DecisionRow{.decision = 1, .time = 2, .event = "job-arrived 1", .allocation = "1=0-1"});
  EXPECT_THAT(MovesIn(At(story, 3)), ElementsAre("job 1 came: job 1 starts on 0-1"));
  EXPECT_EQ(MovesIn(At(story, 5)).front(),
            "being carried out: job 1: 2 -> 1 core; job 2 starts on 1");
  story.Add(
      DecisionRow{.decision = 2, .time = 4, .event = "job-arrived 2", .allocation = "1=0 2=1"});
  EXPECT_EQ(MovesIn(At(story, 5)).front(), "job 2 came: job 1: 2 -> 1 core; job 2 starts on 1");
  story.SetWhole();
  EXPECT_THAT(MovesIn(At(story, 6)).front(), testing::StartsWith("job 2 came"));
}

TEST(CellStoryTest, AShareOfANodeIsTold) {
  CellStory story;
  story.Add(
      DecisionRow{.decision = 1, .time = 1, .event = "window-over", .allocation = "3=0.5@1/4"});
  EXPECT_EQ(MovesIn(At(story, 1)).front(), "window over: job 3 starts on node 1");
}

TEST(CellStoryTest, QueuesOfACellThatIsOverComeFromItsRequests) {
  CellStory story;
  story.Add(Asked(1, 2, 4));
  story.Add(Asked(1, 3, 5));
  RequestRow dropped = Asked(1.5, 0, 0);
  dropped.dispatched.reset();
  dropped.finished.reset();
  dropped.state = "dropped";
  story.Add(dropped);  // Its row stands where it was dropped: at 5 s.
  EXPECT_EQ(At(story, 2).services[0].queued, std::nullopt);  // More rows may be to come.
  story.SetWhole();
  const ServiceMoment early = At(story, 2.5).services[0];
  EXPECT_THAT(early.queued, Optional(2));
  EXPECT_THAT(early.in_flight, Optional(1));
  const ServiceMoment late = At(story, 5).services[0];
  EXPECT_THAT(late.queued, Optional(0));
  EXPECT_THAT(late.in_flight, Optional(0));
  EXPECT_EQ(late.answered, 2);
  EXPECT_EQ(late.dropped, 1);
  EXPECT_EQ(late.answered_per_s, 1);
  EXPECT_THAT(late.mean_response_s, Optional(3.5));
}

TEST(CellStoryTest, QueuesOfACellThatRunsAreThoseThatItTells) {
  CellStory story;
  story.Add(QueueRow{.time = 1.0, .service = "web", .queued = 3, .in_flight = 2});
  story.Add(QueueRow{.time = 2.0, .service = "web", .queued = 70, .in_flight = 2});
  EXPECT_EQ(At(story, 0.5).services[0].queued, std::nullopt);
  EXPECT_THAT(At(story, 1.5).services[0].queued, Optional(3));
  EXPECT_THAT(At(story, 1.5).services[0].in_flight, Optional(2));
  EXPECT_THAT(At(story, 2).services[0].queued, Optional(70));
}

TEST(CellStoryTest, AnInstanceOfAServiceAnswersRequests) {
  CellStory story;
  story.Add(SubmittedRow{.job_id = 9, .workload = "web", .steps = 1000, .serves = 1});
  story.Add(Grant(0, 9, "granted", {0}));
  for (int i = 0; i < 40; ++i) story.Add(Asked(i * 0.1, i * 0.1, i * 0.1 + 0.05));
  const TenantMoment tenant = At(story, 3).tenants[0];
  EXPECT_EQ(tenant.unit, SpeedUnit::kRequests);
  EXPECT_THAT(tenant.per_second, Optional(10.0));
  EXPECT_EQ(tenant.program, "web");
  EXPECT_EQ(tenant.all_steps, std::nullopt);
}

// Of a cell that is over nobody tells who served: those that answered did.
TEST(CellStoryTest, AJobThatAnsweredRequestsIsAnInstance) {
  CellStory story;
  story.Add(Grant(0, 9, "granted", {0}));
  for (int i = 0; i < 40; ++i) story.Add(Asked(i * 0.1, i * 0.1, i * 0.1 + 0.05));
  EXPECT_EQ(At(story, 3).tenants[0].unit, SpeedUnit::kRequests);
}

TEST(CellStoryTest, WithoutGrantsJobsAndSamplesTellWhoRan) {
  CellStory story;
  story.Add(Sampled(2, 1, 1, 5, 5));
  JobRow row;
  row.job_id = 1;
  row.submission_time = 1.0;
  row.starting_time = RecordedTime(2.0);
  row.finish_time = 9.0;
  row.state = "failed";
  story.Add(row);
  const CellMoment moment = At(story, 3);
  ASSERT_EQ(moment.running, 1);
  EXPECT_EQ(moment.tenants[0].cores, CpuSet({0}));
  EXPECT_EQ(At(story, 9).lost, 1);
  row.job_id = 2;  // Of which there is no sample either.
  row.allocated_resources = {1};
  story.Add(row);
  EXPECT_EQ(At(story, 3).running, 2);
  EXPECT_EQ(At(story, 3).granted, CpuSet({0, 1}));
}

TEST(CellStoryTest, OfManyThatWaitOnlyTheFirstAreTold) {
  CellStory story;
  for (int64_t job = 0; job < 1000; ++job) story.Add(Grant(1, job, "submitted"));
  const CellMoment moment = story.At(1, 10, 20);
  EXPECT_EQ(moment.waiting, 1000);
  EXPECT_EQ(moment.tenants.size(), 20u);
}

}  // namespace
}  // namespace cosched
