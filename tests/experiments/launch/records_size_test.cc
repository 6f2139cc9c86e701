#include "experiments/launch/records_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/harness/harness.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RecordsSizeTest : public testing::Test {
 protected:
  RecordsSizeTest() {
    Profile profile;
    ProgramProfile program;
    program.program = "lenet5 train batch 64";
    program.alone = {{1, {1, 1}, {0.04, 0.04, 0.04, 3}}, {2, {1, 2}, {0.02, 0.02, 0.02, 3}}};
    profile.programs = {program};
    profile.cores = 2;
    SaveProfile(profile, folder_.path() / "p.json");
    WriteText(file_, R"(name = "s"
backend = "simulated"
policies = ["strict", "equal-share"]
elasticity = ["rigid", "malleable"]
trials = 2
machine = { topology = "pack:1 [numa] core:8 pu:1", profile = "p.json" }
[trace]
jobs = 300
gap = { distribution = "exponential", mean_s = 0.2 }
[[workload]]
model = "lenet5"
batch = 64
steps = 40
cores = { preferred = 2 }
)");
  }

  Sweep Load(const std::vector<std::string>& overrides = {}) const {
    return LoadSweep(file_, overrides, false, here_);
  }

  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "s.toml";
  const Topology here_ = Topology::Synthetic("pack:1 [numa] core:2 pu:1");
};

// "steps" of steps.csv and steps.csv.gz.
std::string KeyOf(const std::filesystem::path& file) {
  const std::string name = file.filename();
  return name.substr(0, name.find('.'));
}

// Every file alone: a sum could be right by luck.
TEST_F(RecordsSizeTest, EstimatesAreWithinAFactorOfTwoOfWhatIsWritten) {
  for (const char* change : {"trace.jobs=300", "trace.jobs=2000", "records.compress='gzip'"}) {
    const Sweep sweep = Load({change});
    const SweepPoint& point = sweep.points.front();
    const TemporaryFolder run;
    RunCells(point.config, point.plan, point.plan.cells,
             {.run = run.path(),
              .topology = *point.config.topology,
              .hosts = SimulatedHosts(point.config)});
    RecordsSize written;
    for (const auto& file : std::filesystem::recursive_directory_iterator(run.path())) {
      if (file.is_regular_file())
        written[KeyOf(file.path())] += static_cast<double>(file.file_size());
    }
    for (const auto& [key, bytes] : EstimateRecords(sweep)) {
      EXPECT_GT(bytes, 0.5 * written[key]) << key << " with " << change;
      EXPECT_LT(bytes, 2 * written[key]) << key << " with " << change;
    }
  }
}

TEST_F(RecordsSizeTest, WhatIsOffTakesNothing) {
  const RecordsSize size = EstimateRecords(
      Load({"records.steps=false", "records.samples=false", "records.timeline=false"}));
  EXPECT_EQ(size.count("steps") + size.count("samples") + size.count("timeline"), 0u);
  EXPECT_GT(size.at("grants"), 0);
}

TEST_F(RecordsSizeTest, OnlyLargeRunsAreTold) {
  EXPECT_THAT(LargeRecordsText({{"steps", 9e8}}, 100e9), IsEmpty());
  EXPECT_THAT(LargeRecordsText({{"jobs", 2e9}, {"steps", 9e9}, {"grants", 1e6}}, 100e9),
              AllOf(HasSubstr("about 11 GB: steps 9 GB, jobs 2 GB\n"),
                    HasSubstr("[records] steps = false leaves out"), Not(HasSubstr("WARNING"))));
  EXPECT_THAT(LargeRecordsText({{"steps", 9e8}}, 100e6),
              HasSubstr("WARNING: only 100 MB are free where they go"));
}

TEST_F(RecordsSizeTest, LargeSimulationsLeaveOutStepsAndSamplesUnlessAsked) {
  const auto kept = [&](std::vector<std::string> overrides) {
    overrides.push_back("trace.jobs=100001");
    overrides.push_back("trials=1");
    const Sweep sweep = Load(overrides);
    const RecordsConfig& records = sweep.points.front().config.records;
    EXPECT_EQ(sweep.without_records.empty(), records.steps && records.samples);
    return std::pair(records.steps, records.samples);
  };
  EXPECT_EQ(kept({}), std::pair(false, false));
  EXPECT_EQ(kept({"records.steps=true"}), std::pair(true, true)) << "samples count steps";
  EXPECT_EQ(kept({"records.samples=true"}), std::pair(false, true));
  const Sweep small = Load({"trace.jobs=100000", "trials=1"});
  EXPECT_TRUE(small.points.front().config.records.steps);
  EXPECT_THAT(small.without_records, IsEmpty());
  EXPECT_THAT(Load({"trace.jobs=100001", "trials=1"}).without_records.front(),
              HasSubstr("more than 100000 simulated jobs: steps and samples are not recorded, "
                        "unless [records] steps = true, samples = true"));
}

}  // namespace
}  // namespace cosched
