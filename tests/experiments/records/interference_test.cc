#include "experiments/records/interference.h"

#include <gtest/gtest.h>

#include <numeric>

#include "experiments/analysis/interference_table.h"
#include "experiments/records/cell_records.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

const JobId kA{1}, kB{2}, kC{3};
constexpr double kExact = 1e-9;

Interference::Thread Spinner(JobId job, int cpu, const CpuSet& cores, int run_ms, int wait_ms) {
  return {job, cpu, cores, milliseconds(run_ms), milliseconds(wait_ms)};
}

double Lost(const Interference::Matrix& matrix, JobId victim, std::optional<JobId> culprit) {
  const auto found = matrix.find({victim, culprit});
  return found == matrix.end() ? 0 : found->second;
}

double LostToAll(const Interference::Matrix& matrix, JobId victim) {
  return std::accumulate(matrix.begin(), matrix.end(), 0.0, [victim](double sum, const auto& row) {
    return sum + (row.first.first == victim) * row.second;
  });
}

TEST(InterferenceTest, TwoSpinnersOnACoreLoseAllTheirWaitToEachOther) {
  Interference interference;
  interference.AddPeriod({Spinner(kA, 0, {0}, 50, 50), Spinner(kB, 0, {0}, 50, 50)}, {});
  EXPECT_NEAR(Lost(interference.matrix(), kA, kB), 0.05, kExact);
  EXPECT_NEAR(Lost(interference.matrix(), kB, kA), 0.05, kExact);
  EXPECT_EQ(interference.matrix().size(), 2U);
}

TEST(InterferenceTest, TwoThreadsOfATenantOnACoreLoseToItself) {
  Interference interference;
  interference.AddPeriod({Spinner(kA, 0, {0}, 50, 50), Spinner(kA, 0, {0}, 50, 50)}, {});
  EXPECT_NEAR(Lost(interference.matrix(), kA, kA), 0.1, kExact);
  EXPECT_EQ(interference.matrix().size(), 1U);
}

TEST(InterferenceTest, WhereNobodyRanTheWaitIsOfOthers) {
  Interference interference;
  interference.AddPeriod({Spinner(kA, 0, {0}, 0, 30), Spinner(kB, 1, {1}, 100, 0)}, {});
  EXPECT_NEAR(Lost(interference.matrix(), kA, std::nullopt), 0.03, kExact);
  EXPECT_EQ(interference.matrix().size(), 1U);
}

TEST(InterferenceTest, WaitIsSharedByRunTimeOnTheVictimsCores) {
  Interference interference;
  for (int period = 0; period < 2; ++period) {
    interference.AddPeriod({Spinner(kA, 0, {0, 1}, 10, 60), Spinner(kB, 1, {0, 1}, 40, 0),
                            Spinner(kC, 2, {0, 1, 2}, 100, 0)},  // Not on A's cores.
                           {{0, milliseconds(80)}, {2, milliseconds(100)}});
  }
  EXPECT_NEAR(Lost(interference.matrix(), kA, kB), 0.04, kExact);
  EXPECT_NEAR(Lost(interference.matrix(), kA, std::nullopt), 0.08, kExact);
  EXPECT_EQ(Lost(interference.matrix(), kA, kC), 0);
  EXPECT_NEAR(LostToAll(interference.matrix(), kA), 0.12, kExact);
}

TenantSample Sample(JobId job, int wait_ms, std::vector<ThreadSample> threads) {
  TenantSample sample;
  sample.job = job;
  sample.granted = {0};
  sample.amount = CpuShare::OfCores(sample.granted.Count());
  sample.run_queue_wait = milliseconds(wait_ms);
  sample.threads = std::move(threads);
  return sample;
}

ThreadSample OnCore0(int tid, int run_ms, int wait_ms, bool compute = true) {
  return {tid, compute, 0, {0}, milliseconds(run_ms), milliseconds(wait_ms)};
}

TEST(InterferenceMeterTest, SharesOutEveryWaitOfTheSamples) {
  InterferenceMeter meter({{0, milliseconds(1000)}});
  meter.Add({Sample(kA, 50, {OnCore0(10, 50, 50)}), Sample(kB, 50, {OnCore0(20, 50, 50)})},
            {{0, milliseconds(1100)}});
  EXPECT_NEAR(Lost(meter.matrix(), kA, kB), 0.05, kExact);
  // Thread 10 has ended with 20 ms more, unseen; B's other thread waits but does not compute.
  meter.Add({Sample(kA, 70, {}), Sample(kB, 60, {OnCore0(20, 90, 60), OnCore0(21, 10, 99, false)})},
            {{0, milliseconds(1200)}});
  EXPECT_NEAR(LostToAll(meter.matrix(), kA), 0.07, kExact);
  EXPECT_NEAR(LostToAll(meter.matrix(), kB), 0.06, kExact);
  // The core was busy for 50 ms more than B: B's 40 ms and 10 ms and others' 50 ms.
  EXPECT_NEAR(Lost(meter.matrix(), kA, std::nullopt), 0.01, kExact);
}

TEST(InterferenceMeterTest, TicksThatComeLateAreNoOtherProgram) {
  InterferenceMeter meter({{0, milliseconds(0)}});
  // The kernel's ticks lag behind by 8 ms, then catch up.
  meter.Add({Sample(kA, 50, {OnCore0(10, 48, 50)}), Sample(kB, 0, {OnCore0(20, 50, 0)})},
            {{0, milliseconds(90)}});
  meter.Add({Sample(kA, 90, {OnCore0(10, 50, 90)}), Sample(kB, 0, {OnCore0(20, 90, 0)})},
            {{0, milliseconds(140)}});
  EXPECT_EQ(Lost(meter.matrix(), kA, std::nullopt), 0);
  EXPECT_NEAR(Lost(meter.matrix(), kA, kB), 0.09, kExact);
}

TEST(InterferenceRecordsTest, RowsNameTheCulpritAndTheTableReadsThem) {
  const TemporaryFolder folder;
  const CellKey key{"no-control", Elasticity::kRigid, 1};
  CellRecords records(folder.path(), key, {0});
  records.WriteInterference({{{kA, kA}, 0.25}, {{kA, kB}, 0.5}, {{kA, std::nullopt}, 0.125}});
  records.Finish("done", "");
  EXPECT_EQ(ReadText(CellFolder(folder.path(), key) / "interference.csv"),
            "victim,culprit,waited_s\n1,other,0.125000\n1,self,0.250000\n1,2,0.500000\n");
  const std::string table = InterferenceTable({folder.path()});
  EXPECT_NE(table.find("0.875    other 0.125  self 0.250  job 2 0.500"), std::string::npos)
      << table;
}

TEST(InterferenceRecordsTest, RunsWithoutItSaySo) {
  const TemporaryFolder folder;
  EXPECT_EQ(InterferenceTable({folder.path()}), "no cell here was run with --interference\n");
}

}  // namespace
}  // namespace cosched
