#include "experiments/analysis/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <utility>

#include "engine/base/error.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const CellKey kKey{"no-control", Elasticity::kRigid, 1};

TimePoint At(double seconds) { return TimePoint(FromSeconds(seconds)); }

// Two rigid jobs of two threads on a machine of two cores, together for 4 s; the second waits 1 s
// and then runs alone.
class MetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CellRecords records(folder_.path(), kKey, {0, 1});
    records.OnSubmitted(At(1), {{1}, "resnet20", {1, 2, 2}, Elasticity::kRigid, 0});
    records.OnStarted(At(1), {1}, Place::Whole({0, 1}, {1, 2}));
    Sample(&records, 1, 1, 0, 0, 0);
    records.OnSubmitted(At(2), {{2}, "resnet20", {1, 2, 2}, Elasticity::kRigid, 0});
    records.OnStarted(At(3), {2}, Place::Whole({0, 1}, {1, 2}));
    Sample(&records, 3, 2, 0, 0, 0);
    Sample(&records, 5, 1, 6, 2, 10);
    records.OnEnded(At(7), {1}, JobEnd::kFinished, "");
    records.OnGrant(At(7), {2}, Place::Whole({0}, {1, 2}));
    Sample(&records, 8, 2, 5, 3, 20);
    records.OnEnded(At(11), {2}, JobEnd::kFinished, "");
    records.OnSubmitted(At(11), {{3}, "lenet5", {4, 4, 4}, Elasticity::kRigid, 0});
    records.OnEnded(At(11), {3}, JobEnd::kRejected, "too large");
    records.Finish("done", "");
  }

  static void Sample(CellRecords* records, double time, int64_t job, double run, double wait,
                     int64_t steps) {
    TenantSample sample;
    sample.job = {job};
    sample.time = At(time);
    sample.granted = time < 7 ? CpuSet{0, 1} : CpuSet{0};
    sample.amount = CpuShare::OfCores(sample.granted.Count());
    sample.runnable_threads = 2;
    sample.run_time = FromSeconds(run);
    sample.run_queue_wait = FromSeconds(wait);
    sample.steps = steps;
    sample.involuntary_switches = steps * 5;
    sample.migrations = steps * 2;
    if (job == 2) sample.pressure = FromSeconds(wait);
    sample.spin_time = FromSeconds(run / 4);
    sample.images = steps * 32;
    records->OnSample(sample);
  }

  TemporaryFolder folder_;
};

TEST_F(MetricsTest, TimesFollowTheirDefinitions) {
  const CellSummary summary = Summarize(folder_.path(), kKey);
  EXPECT_EQ(summary.jobs, 3);
  EXPECT_EQ(summary.finished, 2);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_DOUBLE_EQ(summary.makespan_s, 10);
  EXPECT_DOUBLE_EQ(summary.throughput_jobs_per_hour, 720);
  EXPECT_DOUBLE_EQ(summary.mean_wait_s, 0.5);
  EXPECT_DOUBLE_EQ(summary.mean_execution_s, 7);
  EXPECT_DOUBLE_EQ(summary.mean_turnaround_s, 7.5);
  EXPECT_DOUBLE_EQ(summary.mean_stretch, (1 + 9.0 / 8) / 2);
  EXPECT_DOUBLE_EQ(summary.images_per_s.value(), 30 * 32 / 10.0);
  EXPECT_EQ(summary.resizes, 1);
  EXPECT_EQ(summary.status, "done");
}

TEST_F(MetricsTest, LostJobsAreCountedByWhatBecameOfThem) {
  const CellKey key{"strict", Elasticity::kRigid, 1};
  CellRecords records(folder_.path(), key, {0, 1});
  int64_t id = 0;
  for (const auto& [end, count] : {std::pair{JobEnd::kFinished, 4},
                                   {JobEnd::kRejected, 3},
                                   {JobEnd::kCancelled, 2},
                                   {JobEnd::kFailed, 1}}) {
    for (int i = 0; i < count; ++i) {
      records.OnSubmitted(At(0), {{++id}, "resnet20", {1, 1, 1}, Elasticity::kRigid, 0});
      records.OnEnded(At(0), {id}, end, "");
    }
  }
  records.Finish("done", "");
  const CellSummary summary = Summarize(folder_.path(), key);
  EXPECT_EQ(summary.rejected, 3);
  EXPECT_EQ(summary.cancelled, 2);
  EXPECT_EQ(summary.failed, 1);
  EXPECT_EQ(summary.Lost(), 6);
  EXPECT_EQ(summary.Lost(), summary.jobs - summary.finished);
}

TEST_F(MetricsTest, LongWaitsAndTurnaroundsAreNotHiddenByMeans) {
  const CellKey key{"strict", Elasticity::kRigid, 1};
  CellRecords records(folder_.path(), key, {0, 1});
  for (int id = 1; id <= 20; ++id) {
    records.OnSubmitted(At(0), {{id}, "resnet20", {1, 1, 1}, Elasticity::kRigid, 0});
    records.OnStarted(At(id == 7 ? 30 : 1), {id}, Place::Whole({0}, {1, 1}));
    records.OnEnded(At(id == 7 ? 90 : 20 + id), {id}, JobEnd::kFinished, "");
  }
  records.Finish("done", "");
  const CellSummary summary = Summarize(folder_.path(), key);
  EXPECT_DOUBLE_EQ(summary.max_wait_s, 30);
  EXPECT_DOUBLE_EQ(summary.p95_turnaround_s, 40);  // The 19th of 20.
}

// Alone they take 10 s on one core and 5 s on the two that they prefer.
TEST_F(MetricsTest, SlowdownIsAgainstTheJobsTimeAloneNotAgainstItsTimeHere) {
  const CellKey key{"strict", Elasticity::kMalleable, 1};
  CellRecords records(folder_.path(), key, {0, 1});
  const auto speed = std::make_shared<const SpeedCurve>(std::vector<double>{2, 4});
  const auto job = [&speed](int64_t id) {
    return Job{.id = {id}, .workload = "toy", .request = {1, 2, 2}, .steps = 20, .speed = speed};
  };
  for (const int64_t id : {1, 2}) {  // Both at once, on one core each: none waits.
    records.OnSubmitted(At(0), job(id));
    records.OnStarted(At(0), {id}, Place::Whole({static_cast<int>(id) - 1}, {1, 1}));
  }
  records.OnEnded(At(10), {1}, JobEnd::kFinished, "");
  records.OnEnded(At(10), {2}, JobEnd::kFinished, "");
  records.OnSubmitted(At(10), {.id = {3}, .workload = "unknown", .request = {1, 2, 2}});
  records.OnStarted(At(10), {3}, Place::Whole({0}, {1, 1}));
  records.OnEnded(At(11), {3}, JobEnd::kFinished, "");
  records.OnSubmitted(At(11), job(4));
  records.OnEnded(At(50), {4}, JobEnd::kRejected, "no");
  records.Finish("done", "");
  const CellSummary summary = Summarize(folder_.path(), key);
  EXPECT_DOUBLE_EQ(summary.mean_stretch, 1);
  ASSERT_TRUE(summary.mean_slowdown);
  EXPECT_DOUBLE_EQ(*summary.mean_slowdown, 2);
  EXPECT_FALSE(Summarize(folder_.path(), kKey).mean_slowdown);
}

// R is 2 in [1,3), 4 in [3,7), 2 in [7,11); C is 2 until the sample at 8 s, then 1.
TEST_F(MetricsTest, OversubscriptionIntegratesThreadsBeyondDistinctCores) {
  const CellSummary summary = Summarize(folder_.path(), kKey);
  const double core_seconds = 2 * 7 + 1 * 3;
  EXPECT_DOUBLE_EQ(summary.oversubscription.value(), (2 * 4 + 1 * 3) / core_seconds);
  EXPECT_DOUBLE_EQ(summary.runqueue_wait_s_per_core_s.value(), 5 / core_seconds);
}

TEST_F(MetricsTest, TimeSpentLookingForWorkIsNoUse) {
  EXPECT_DOUBLE_EQ(Summarize(folder_.path(), kKey).core_utilization.value(),
                   11 * 0.75 / (2 * 10.0));
}

// A tenant has a core more than threads, the other two threads more than cores.
TEST_F(MetricsTest, ATenantsIdleCoresDoNotCancelAnothersExcess) {
  const CellKey key{"strict", Elasticity::kRigid, 1};
  CellRecords records(folder_.path(), key, CpuSet::Range(0, 3));
  for (const auto& [id, cores, threads] :
       {std::tuple{1, CpuSet::Range(0, 2), 2}, {2, CpuSet{3}, 3}}) {
    records.OnSubmitted(At(0), {{id}, "resnet20", {1, 1, 4}, Elasticity::kRigid, 0});
    records.OnStarted(At(0), {id}, Place::Whole(cores, {1, threads}));
    TenantSample sample;
    sample.job = {id};
    sample.time = At(0);
    sample.granted = cores;
    sample.amount = CpuShare::OfCores(sample.granted.Count());
    sample.runnable_threads = threads;
    records.OnSample(sample);
  }
  for (const int64_t id : {1, 2}) records.OnEnded(At(10), {id}, JobEnd::kFinished, "");
  records.Finish("done", "");
  const CellSummary summary = Summarize(folder_.path(), key);
  EXPECT_DOUBLE_EQ(summary.oversubscription.value(), 1 / 4.0);
  EXPECT_DOUBLE_EQ(summary.tenant_oversubscription.value(), 2 / 4.0);
  EXPECT_DOUBLE_EQ(summary.worst_tenant_oversubscription.value(), 2);
}

// The job starts at 1 s, is first sampled at 3 s and ends at 5 s.
TEST_F(MetricsTest, AJobCountsFromItsFirstInstantNotFromItsFirstSample) {
  const CellKey key{"strict", Elasticity::kRigid, 1};
  CellRecords records(folder_.path(), key, {0, 1});
  records.OnSubmitted(At(0), {{1}, "resnet20", {1, 1, 1}, Elasticity::kRigid, 0});
  records.OnStarted(At(1), {1}, Place::Whole({0}, {1, 3}));
  for (const auto& [time, runnable] : {std::pair{3.0, 3}, {4.0, 1}}) {
    TenantSample sample;
    sample.job = {1};
    sample.time = At(time);
    sample.granted = {0};
    sample.amount = CpuShare::OfCores(sample.granted.Count());
    sample.runnable_threads = runnable;
    sample.run_queue_wait = FromSeconds(2);
    records.OnSample(sample);
  }
  records.OnEnded(At(5), {1}, JobEnd::kFinished, "");
  records.Finish("done", "");
  const CellSummary summary = Summarize(folder_.path(), key);
  EXPECT_DOUBLE_EQ(summary.oversubscription.value(), 2 * 3 / 4.0);
  EXPECT_DOUBLE_EQ(summary.tenant_oversubscription.value(), 2 * 3 / 4.0);
  EXPECT_DOUBLE_EQ(summary.runqueue_wait_s_per_core_s.value(), 2 / 4.0);
}

// Job 1 has both cores, and is sampled so, until job 2 starts at 1.5 s and is given one of them:
// the sample after that says so of both.
TEST_F(MetricsTest, CoresThatChangeHandsWhenAJobStartsAreNoOversubscription) {
  const CellKey key{"equal-share", Elasticity::kMalleable, 1};
  CellRecords records(folder_.path(), key, {0, 1});
  const auto sample = [&records](double time, int64_t job, const CpuSet& cores) {
    TenantSample sample;
    sample.job = {job};
    sample.time = At(time);
    sample.granted = cores;
    sample.amount = CpuShare::OfCores(sample.granted.Count());
    sample.runnable_threads = cores.Count();
    records.OnSample(sample);
  };
  records.OnSubmitted(At(0), {{1}, "resnet20", {1, 2, 2}, Elasticity::kMalleable, 0});
  records.OnStarted(At(0), {1}, Place::Whole({0, 1}, {1, 2}));
  sample(1, 1, {0, 1});
  records.OnSubmitted(At(1.5), {{2}, "resnet20", {1, 2, 2}, Elasticity::kMalleable, 0});
  records.OnGrant(At(1.5), {1}, Place::Whole({0}, {1, 1}));
  records.OnStarted(At(1.5), {2}, Place::Whole({1}, {1, 1}));
  sample(2, 1, {0});
  sample(2, 2, {1});
  records.OnEnded(At(4), {1}, JobEnd::kFinished, "");
  records.OnEnded(At(4), {2}, JobEnd::kFinished, "");
  records.Finish("done", "");
  const CellSummary summary = Summarize(folder_.path(), key);
  EXPECT_EQ(summary.oversubscription, 0);
  EXPECT_EQ(summary.worst_tenant_oversubscription, 0);
}

// Job 1 has two threads on two cores; job 2 too until 8 s, and then two on one core for 3 s.
TEST_F(MetricsTest, EachTenantsThreadsAreComparedWithItsOwnGrant) {
  EXPECT_DOUBLE_EQ(Summarize(folder_.path(), kKey).worst_tenant_oversubscription.value(),
                   3 / (2 * 5 + 1 * 3.0));
}

TEST_F(MetricsTest, CountersArePerCoreSecondAndAbsentWhereNobodyCounts) {
  const CellSummary summary = Summarize(folder_.path(), kKey);
  const double core_seconds = 2 * 7 + 1 * 3;
  EXPECT_DOUBLE_EQ(summary.involuntary_switches_per_core_s.value(), 30 * 5 / core_seconds);
  EXPECT_DOUBLE_EQ(summary.migrations_per_core_s.value(), 30 * 2 / core_seconds);
  EXPECT_FALSE(summary.throttled_s_per_core_s);
  ASSERT_TRUE(summary.pressure_s_per_core_s);
  EXPECT_DOUBLE_EQ(*summary.pressure_s_per_core_s, 3 / core_seconds);
}

// Best time per step: job 2's 8 s / 20; progress 10 × 0.4 / 6 and 20 × 0.4 / 9.
TEST_F(MetricsTest, JainIndexComparesRelativeProgress) {
  const double a = 4.0 / 6, b = 8.0 / 9;
  EXPECT_DOUBLE_EQ(Summarize(folder_.path(), kKey).jain_index,
                   (a + b) * (a + b) / (2 * (a * a + b * b)));
}

TEST_F(MetricsTest, ThreadExcessIsFoundInSamplesThatDoNotSettle) {
  const ThreadExcess excess = FindThreadExcess(folder_.path(), kKey);
  EXPECT_EQ(excess.samples, 4);
  EXPECT_EQ(excess.exceeding, 1);
  EXPECT_EQ(excess.worst, 1);
}

TEST_F(MetricsTest, OnlyWholeCellsCount) {
  const CellRecords partial(folder_.path(), {"no-control", Elasticity::kMalleable, 1}, {0});
  CellRecords(folder_.path(), {"no-control", Elasticity::kRigid, 10}, {0}).Finish("done", "");
  CellRecords(folder_.path(), {"no-control", Elasticity::kRigid, 2}, {0}).Finish("failed", "why");
  std::filesystem::create_directories(folder_.path() / "plots" / "rigid" / "1");
  EXPECT_THAT(WholeCells(folder_.path()),
              ElementsAre(kKey, CellKey{"no-control", Elasticity::kRigid, 2},
                          CellKey{"no-control", Elasticity::kRigid, 10}));
}

TEST_F(MetricsTest, SummaryHasARowForEveryCell) {
  CellRecords(folder_.path(), {"strict", Elasticity::kRigid, 1}, {0}).Finish("failed", "why");
  WriteSummary(folder_.path());
  const std::string summary = ReadText(folder_.path() / "summary.csv");
  EXPECT_THAT(summary, HasSubstr("policy,elasticity,trial,makespan_s,"));
  EXPECT_THAT(summary, HasSubstr("\nno-control,rigid,1,10.000000,720.000000,0.500000,"));
  EXPECT_THAT(summary, HasSubstr(",3,2,0,1,done,"));
  EXPECT_THAT(summary, HasSubstr("\nstrict,rigid,1,0.000000,"));
  EXPECT_THAT(summary, HasSubstr(",0,0,0,0,failed,0.000000,0.000000,0.000000,,,"));
  EXPECT_THAT(summary, HasSubstr(",rejected,cancelled,lost,max_wait_s,p95_turnaround_s,"
                                 "mean_slowdown,tenant_oversubscription,granted_core_s,used_core_s,"
                                 "marks,marked,device_busy_s,node_moves,memory_moved_mb\n"));
  EXPECT_THAT(summary, HasSubstr(",1,0,1,1.000000,9.000000,,0.176471,28.000000,8.250000,,0,,,\n"));
  EXPECT_THAT(summary, HasSubstr(",0,0,0,0.000000,0.000000,,0.000000,0.000000,0.000000,,0,,,\n"));
}

TEST_F(MetricsTest, SummaryTellsWhichCellsAreMarkedAndWhy) {
  CellRecords records(folder_.path(), {"strict", Elasticity::kRigid, 1}, {0});
  records.Mark("a request was sent 1,200 ms late");
  records.Mark("the \"other\" programs");
  records.Finish("done", "");
  WriteSummary(folder_.path());
  EXPECT_THAT(
      ReadText(folder_.path() / "summary.csv"),
      HasSubstr(",\"a request was sent 1,200 ms late; the \"\"other\"\" programs\",1,,,\n"));
}

TEST_F(MetricsTest, DamagedRecordsAreAnInputError) {
  const auto jobs = CellFolder(folder_.path(), kKey) / "jobs.csv";
  const std::string good = ReadText(jobs);
  WriteText(jobs, good + "4,half a row");
  EXPECT_THROW(Summarize(folder_.path(), kKey), InputError);
  WriteText(jobs, good);
  WriteText(CellFolder(folder_.path(), kKey) / "cell.json", "{}");
  EXPECT_THROW(Summarize(folder_.path(), kKey), InputError);
  std::filesystem::remove(CellFolder(folder_.path(), kKey) / "cell.json");
  EXPECT_THROW(Summarize(folder_.path(), kKey), InputError);
}

TEST(MetricsWithoutSamplesTest, WhatOnlySamplesTellIsAbsentNotZero) {
  TemporaryFolder folder;
  CellRecords records(folder.path(), kKey, CpuSet::Range(0, 1), {.samples = false, .steps = false});
  for (const int64_t id : {1, 2}) {
    records.OnSubmitted(TimePoint(), {.id = {id}, .workload = "toy", .request = {}, .steps = 30});
    records.OnStarted(TimePoint(), {id}, Place::Whole({0}, {1, 1}));
    records.OnEnded(TimePoint(std::chrono::seconds(id)), {id}, JobEnd::kFinished, "");
  }
  records.Finish("done", "");
  const CellSummary summary = Summarize(folder.path(), kKey);
  EXPECT_EQ(summary.finished, 2);
  EXPECT_DOUBLE_EQ(summary.mean_turnaround_s, 1.5);
  EXPECT_FALSE(summary.core_utilization);
  EXPECT_FALSE(summary.oversubscription);
  EXPECT_FALSE(summary.images_per_s);
  // Relative progress 1 and 1/2: steps count, though nobody reported them.
  EXPECT_DOUBLE_EQ(summary.jain_index, 0.9);
  EXPECT_EQ(FindThreadExcess(folder.path(), kKey).samples, 0);
}

}  // namespace
}  // namespace cosched
