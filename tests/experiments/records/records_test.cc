#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/base/byte_source.h"
#include "engine/base/error.h"
#include "experiments/records/cell_records.h"
#include "experiments/records/csv.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

const CellKey kKey{"strict", Elasticity::kMalleable, 2};

TimePoint At(int ms) { return TimePoint(milliseconds(ms)); }

Job MakeJob(int64_t id, Elasticity elasticity = Elasticity::kMalleable) {
  return {{id}, "resnet20", {1, 2, 2}, elasticity, 0};
}

std::string Unpacked(const std::filesystem::path& file) {
  const std::unique_ptr<ByteSource> bytes = OpenFile(file);
  std::string text, block(1 << 16, '\0');
  while (const size_t size = bytes->Read(block.data(), block.size())) text.append(block, 0, size);
  return text;
}

class RecordsTest : public ::testing::Test {
 protected:
  std::filesystem::path Partial() const {
    return folder_.path() / "strict" / "malleable" / "2.partial";
  }
  std::string Read(const std::string& file) const { return ReadText(Partial() / file); }

  TemporaryFolder folder_;
  CellRecords records_{folder_.path(), kKey, CpuSet::Range(0, 3)};
};

TEST_F(RecordsTest, JobRowHasItsTimesGrantAndWork) {
  records_.OnSubmitted(At(1000), MakeJob(7));
  records_.OnStarted(At(1500), {7}, Place::Whole({0, 1}, {1, 2}));
  records_.OnGrant(At(2000), {7}, Place::Whole({0}, {1, 1}));
  records_.OnSettled(At(2001), {7}, Place::Whole({0}, {}), 1, milliseconds(1));
  records_.OnSample(
      {{7}, At(2400), {0}, {1000}, 1, 1, false, {}, {}, 0, 0, {}, {}, 4, 128, {}, {}});
  records_.OnStep({{7}, 4, At(2500), milliseconds(100), 1, 2.25});
  records_.OnResize({{7}, At(2001), "grant", {1, 2}, {1, 1}, {0}, "Conv2D", milliseconds(1)});
  records_.OnActuation({{7}, At(2000), {0}, "cpuset", microseconds(61), {}});
  records_.OnActuation({{7}, At(2000), {0}, "runtime", {}, milliseconds(57)});
  records_.OnEnded(At(2500), {7}, JobEnd::kFinished, "");
  EXPECT_THAT(Read("jobs.csv"),
              HasSubstr("\n7,resnet20,malleable,0,1,2,2,1.000000,1.500000,2.500000,0.500000,"
                        "1.000000,1.500000,1.500000,0,1,1,finished,,5,160,,0.000000\n"));
  EXPECT_THAT(Read("steps.csv"), HasSubstr("\n7,4,2.500000,100.0000,1,2.25\n"));
  EXPECT_THAT(Read("resizes.csv"), HasSubstr("\n2.001000,7,grant,1,2,1,1,0,Conv2D,1000\n"));
  EXPECT_THAT(Read("actuations.csv"),
              HasSubstr("\n2.000000,7,0,cpuset,61.0,\n2.000000,7,0,runtime,,57000.0\n"));
}

TEST_F(RecordsTest, MovesBetweenNumaNodesHaveATableWhereThereAreSome) {
  records_.OnSubmitted(At(0), MakeJob(7));
  EXPECT_FALSE(std::filesystem::exists(Partial() / "memory.csv"));
  records_.OnMemoryMove({.job = {7},
                         .time = At(2000),
                         .from = {{1}},
                         .to = {{0, 2}},
                         .outcome = kMemoryMoved,
                         .bytes = 8192,
                         .left = 4096,
                         .taken = microseconds(250)});
  EXPECT_EQ(Read("memory.csv"),
            "time,job_id,from,to,outcome,bytes,left_bytes,taken_us\n"
            "2.000000,7,1,\"0,2\",moved,8192,4096,250.0\n");
}

TEST_F(RecordsTest, JobThatNeverStartedHasNoStart) {
  records_.OnSubmitted(At(0), MakeJob(1));
  records_.OnEnded(At(500), {1}, JobEnd::kRejected, "asks for more than the machine, 2 > 1");
  EXPECT_THAT(Read("jobs.csv"),
              HasSubstr(",0.000000,,0.500000,,,0.500000,,,0,0,rejected,\"asks for more than the "
                        "machine, 2 > 1\",0,0,,0.000000\n"));
}

// 30 steps, at 12 a second on the two cores that it prefers: known before it runs.
TEST_F(RecordsTest, JobRowSaysWhatTheJobTakesByItself) {
  Job job = MakeJob(1);
  job.speed = std::make_shared<const SpeedCurve>(std::vector<double>{7, 12});
  job.steps = 30;
  records_.OnSubmitted(At(0), job);
  records_.OnEnded(At(500), {1}, JobEnd::kRejected, "no");
  EXPECT_THAT(Read("jobs.csv"), HasSubstr(",rejected,no,0,0,2.500000,0.000000\n"));
}

TEST_F(RecordsTest, SampleRowTellsSpinningFromWork) {
  TenantSample sample;
  sample.job = {1};
  sample.run_time = milliseconds(700);
  sample.spin_time = milliseconds(250);
  records_.OnSample(sample);
  EXPECT_THAT(Read("samples.csv"), HasSubstr(",pressure_us,spin_time_s,amount\n"));
  EXPECT_THAT(Read("samples.csv"), HasSubstr(",0.700000,0.000000,0,0,0,0,,,0.250000,0.000\n"));
}

TEST_F(RecordsTest, EveryStageOfAPipelineIsARowASample) {
  records_.OnSubmitted(At(0), MakeJob(1));
  records_.AddPipeline({1}, {"read", "align"});
  TenantSample sample;
  sample.job = {1};
  sample.time = At(250);
  sample.pipeline = {.stages = {{1, 2, 3, 4, 5, 6, 7, 8, milliseconds(9), milliseconds(10)}, {}},
                     .open = 2,
                     .open_requests = 3};
  records_.OnSample(sample);
  EXPECT_THAT(Read("stages.csv"),
              HasSubstr("\n0.250000,1,read,1,2,3,4,5,6,7,0.009000,0.010000,8,2,3\n"
                        "0.250000,1,align,0,0,0,0,0,0,0,0.000000,0.000000,0,2,3\n"));
}

TEST_F(RecordsTest, TimesCountFromTheArrivalAndTheLatenessStandsBeside) {
  Job job = MakeJob(1);
  job.arrival = At(1000);
  records_.OnSubmitted(At(1250), job);
  records_.OnStarted(At(1500), {1}, Place::Whole({0, 1}, {1, 2}));
  records_.OnEnded(At(2000), {1}, JobEnd::kFinished, "");
  const std::string jobs = Read("jobs.csv");
  EXPECT_THAT(jobs, HasSubstr(",steps,images,alone_s,lateness\n"));
  EXPECT_THAT(jobs, HasSubstr(",1.000000,1.500000,2.000000,0.500000,0.500000,1.000000,2.000000,"));
  EXPECT_THAT(jobs, HasSubstr(",finished,,0,0,,0.250000\n"));
  // The file tells what happened when.
  EXPECT_THAT(Read("grants.csv"), HasSubstr("\n1.250000,1,submitted,"));
}

TEST_F(RecordsTest, RigidJobKeepsItsThreadsWhenItsCoresChange) {
  records_.OnSubmitted(At(0), MakeJob(1, Elasticity::kRigid));
  records_.OnStarted(At(0), {1}, Place::Whole({0, 1}, {1, 2}));
  records_.OnGrant(At(1), {1}, Place::Whole({0}, {1, 1}));
  EXPECT_THAT(Read("grants.csv"), HasSubstr("\n0.001000,1,granted,0,0-1,2,1.000,2.000\n"));
}

// Two workers of which one has a helper, as the pools run them.
TEST_F(RecordsTest, SplitOfTwoByTwoIsThreeThreads) {
  records_.OnSubmitted(At(0), MakeJob(1, Elasticity::kRigid));
  records_.OnStarted(At(0), {1}, Place::Whole({0, 1}, {2, 2}));
  records_.OnEnded(At(2), {1}, JobEnd::kFinished, "");
  records_.Finish("done", "");
  const std::filesystem::path cell = CellFolder(folder_.path(), kKey);
  EXPECT_THAT(ReadText(cell / "grants.csv"),
              HasSubstr("\n0.000000,1,granted,0-1,0-1,3,2.000,2.000\n"));
  EXPECT_THAT(ReadText(cell / "jobs.csv"), HasSubstr(",0-1,3,0,finished,"));
  EXPECT_THAT(ReadText(cell / "timeline.json"), HasSubstr("cores 0-1, 3 threads"));
}

TEST_F(RecordsTest, CoresAreOwnedUntilTheShrinkSettles) {
  records_.OnSubmitted(At(0), MakeJob(1));
  records_.OnStarted(At(1), {1}, Place::Whole({0, 1}, {1, 2}));
  records_.OnGrant(At(2), {1}, Place::Whole({1}, {1, 1}));
  records_.OnSettled(At(3), {1}, Place::Whole({1}, {}), 1, milliseconds(1));
  records_.OnGrant(At(4), {1}, Place::Whole({}, {1, 1}));
  records_.OnSettled(At(5), {1}, Place::Whole({}, {}), 2, milliseconds(1));
  records_.OnEnded(At(6), {1}, JobEnd::kCancelled, "interrupted");
  EXPECT_EQ(Read("grants.csv"),
            "time,job_id,kind,cores,owned,threads,amount,owned_amount\n"
            "0.000000,1,submitted,,,0,0.000,0.000\n"
            "0.001000,1,granted,0-1,0-1,2,2.000,2.000\n"
            "0.002000,1,granted,1,0-1,1,1.000,2.000\n"
            "0.003000,1,settled,1,1,1,1.000,1.000\n"
            "0.004000,1,granted,,1,1,0.000,1.000\n"
            "0.005000,1,settled,,,1,0.000,0.000\n"
            "0.006000,1,released,,,1,0.000,0.000\n");
}

TEST_F(RecordsTest, DecisionIsWrittenWhenItsLastGrantSettles) {
  records_.OnSubmitted(At(0), MakeJob(1));
  records_.OnSubmitted(At(0), MakeJob(2));
  records_.OnDecision(At(0), 1, "job-arrived 2", "1=0 2=1", std::chrono::microseconds(12));
  records_.OnStarted(At(0), {1}, Place::Whole({0}, {1, 1}));
  records_.OnSettled(At(3), {1}, Place::Whole({0}, {}), 1, milliseconds(3));
  EXPECT_THAT(Read("decisions.csv"), Not(HasSubstr("job-arrived")));
  records_.OnStarted(At(0), {2}, Place::Whole({1}, {1, 1}));
  records_.OnSettled(At(2), {2}, Place::Whole({1}, {}), 1, milliseconds(2));
  EXPECT_THAT(Read("decisions.csv"), HasSubstr("\n1,0.000000,job-arrived 2,1=0 2=1,12.0,3000.0\n"));
}

TEST_F(RecordsTest, DecisionThatIsOvertakenHasNoSettleTime) {
  records_.OnSubmitted(At(0), MakeJob(1));
  records_.OnDecision(At(0), 1, "job-arrived 1", "1=0-1", Duration(0));
  records_.OnStarted(At(0), {1}, Place::Whole({0, 1}, {1, 2}));
  records_.OnDecision(At(1), 2, "tick", "1=0", Duration(0));
  EXPECT_THAT(Read("decisions.csv"), HasSubstr("\n1,0.000000,job-arrived 1,1=0-1,0.0,\n"));
  records_.OnEnded(At(2), {1}, JobEnd::kFailed, "died");
  EXPECT_THAT(Read("decisions.csv"), HasSubstr("\n2,0.001000,tick,1=0,0.0,\n"));
}

TEST_F(RecordsTest, DecisionWithNothingToSettleIsWrittenAtOnce) {
  records_.OnDecision(At(5), 1, "job-arrived 1", "1=reject", Duration(0));
  records_.OnDecision(At(6), 2, "tick", "", Duration(0));
  EXPECT_THAT(Read("decisions.csv"), HasSubstr("\n1,0.005000,job-arrived 1,1=reject,0.0,\n"
                                               "2,0.006000,tick,,0.0,\n"));
}

TEST_F(RecordsTest, FolderIsPartialUntilFinished) {
  records_.Mark("the generator fell behind");
  const auto whole = CellFolder(folder_.path(), kKey);
  EXPECT_FALSE(std::filesystem::exists(whole));
  records_.Finish("failed", "the policy granted core 9");
  EXPECT_FALSE(std::filesystem::exists(Partial()));
  const auto cell = nlohmann::json::parse(ReadText(whole / "cell.json"));
  EXPECT_EQ(cell["policy"], "strict");
  EXPECT_EQ(cell["status"], "failed");
  EXPECT_EQ(cell["reason"], "the policy granted core 9");
  EXPECT_EQ(cell["machine_cores"], "0-3");
  EXPECT_EQ(cell["marks"][0], "the generator fell behind");
}

TEST_F(RecordsTest, TimelineIsJsonWithASliceForEveryGrant) {
  records_.OnSubmitted(At(0), MakeJob(1));
  records_.OnDecision(At(0), 1, "job-arrived 1", "1=0-1", Duration(0));
  records_.OnStarted(At(10), {1}, Place::Whole({0, 1}, {1, 2}));
  records_.OnGrant(At(20), {1}, Place::Whole({0}, {1, 1}));
  records_.OnEnded(At(40), {1}, JobEnd::kFinished, "");
  records_.Finish("done", "");
  const auto events =
      nlohmann::json::parse(ReadText(CellFolder(folder_.path(), kKey) / "timeline.json"));
  std::vector<std::string> slices;
  for (const auto& event : events) {
    if (event["ph"] == "X") slices.push_back(event["name"]);
  }
  EXPECT_THAT(slices, ::testing::ElementsAre("waiting", "2 cores", "1 core"));
}

TEST_F(RecordsTest, AnOlderPartialFolderIsMadeAnew) {
  const std::string header = Read("jobs.csv");
  records_.OnSubmitted(At(0), MakeJob(1));
  records_.OnEnded(At(1), {1}, JobEnd::kFinished, "");
  EXPECT_NE(Read("jobs.csv"), header);
  const CellRecords again(folder_.path(), kKey, {0});
  EXPECT_EQ(Read("jobs.csv"), header);
}

TEST(RecordsConfigTest, WhatIsOffIsNotThere) {
  TemporaryFolder folder;
  CellRecords records(folder.path(), kKey, {0},
                      {.grants = false, .decisions = false, .samples = false, .timeline = false});
  EXPECT_FALSE(records.WantsDecisions());
  records.OnSubmitted(At(0), MakeJob(1));
  TenantSample sample;
  sample.job = {1};
  records.OnSample(sample);
  records.OnEnded(At(1), {1}, JobEnd::kFinished, "");
  records.Finish("done", "");
  std::set<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(CellFolder(folder.path(), kKey)))
    files.insert(file.path().filename());
  EXPECT_EQ(files, (std::set<std::string>{"jobs.csv", "steps.csv", "resizes.csv", "actuations.csv",
                                          "cell.json"}));
}

TEST(RecordsConfigTest, BufferedRowsAreTheSameRows) {
  TemporaryFolder at_once, buffered;
  for (const auto& [folder, buffer] : {std::pair{&at_once, 0}, std::pair{&buffered, 300}}) {
    CellRecords records(folder->path(), kKey, {0}, {}, static_cast<size_t>(buffer));
    for (int id = 0; id < 20; ++id) {
      records.OnSubmitted(At(id), MakeJob(id));
      records.OnDecision(At(id), id, "job-arrived", "", {});
      records.OnEnded(At(id + 1), {id}, JobEnd::kRejected, "no");
    }
    records.Finish("done", "");
  }
  for (const char* file : {"jobs.csv", "grants.csv", "decisions.csv", "timeline.json"}) {
    EXPECT_EQ(ReadText(CellFolder(at_once.path(), kKey) / file),
              ReadText(CellFolder(buffered.path(), kKey) / file));
  }
}

TEST(RecordsConfigTest, CompressedRowsAreTheSameRows) {
  TemporaryFolder plain, compressed;
  for (const auto& [folder, gzip] : {std::pair{&plain, false}, std::pair{&compressed, true}}) {
    RecordsConfig config;
    config.gzip = gzip;
    CellRecords records(folder->path(), kKey, {0}, config);
    records.AddService({0});
    for (int id = 0; id < 20; ++id) {
      records.OnSubmitted(At(id), MakeJob(id));
      records.OnDecision(At(id), id, "job-arrived", "", {});
      records.OnStep({{id}, 0, At(id), milliseconds(1), 1, 0});
      records.OnEnded(At(id + 1), {id}, JobEnd::kRejected, "no");
    }
    records.Finish("done", "");
  }
  for (const char* file : {"jobs.csv", "grants.csv", "decisions.csv", "samples.csv", "steps.csv",
                           "resizes.csv", "actuations.csv", "requests.csv", "timeline.json"}) {
    const std::filesystem::path packed = CellFolder(compressed.path(), kKey) / file;
    EXPECT_FALSE(std::filesystem::exists(packed));
    EXPECT_EQ(ReadText(CellFolder(plain.path(), kKey) / file), Unpacked(PlainOrCompressed(packed)));
  }
}

TEST(RecordsFolderTest, UnwritableFolderIsAnOutputError) {
  EXPECT_THROW(CellRecords("/proc/nowhere", kKey, {0}), OutputError);
}

// A limit on the size of files stands in for the full disk: the same failing write.
void FillTheDisk(const std::filesystem::path& run) {
  CellRecords records(run, kKey, {0});
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{4096, 4096};
  setrlimit(RLIMIT_FSIZE, &limit);
  try {
    for (int step = 0; step < 10000; ++step) records.OnStep({{1}, step, At(step), {}, 1, 0});
  } catch (const OutputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(std::filesystem::exists(CellFolder(run, kKey)) ? 3 : 1);
  }
  std::_Exit(0);
}

TEST(RecordsDeathTest, FailedWriteThrowsAndTheCellStaysPartial) {
  TemporaryFolder folder;
  EXPECT_EXIT(FillTheDisk(folder.path()), ::testing::ExitedWithCode(1),
              "steps.csv: can't write: File too large");
}

}  // namespace
}  // namespace cosched
