// The examples that read traces of other formats, run as `cosched run` would: each file's own
// arrivals, no more than a second each, and records that check_results.py accepts.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/harness/harness.h"
#include "experiments/launch/run_folder.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

const std::filesystem::path kExamples = InSource("experiments/examples");

struct Example {
  std::string name;
  std::string format;
  int64_t jobs = 0, requests = 0, rejected = 0;  // Counts of its first file.
};

class TraceExamplesTest : public testing::TestWithParam<Example> {};

TEST_P(TraceExamplesTest, Runs) {
  const Example& example = GetParam();
  const TemporaryFolder folder;
  const Topology here = Topology::Synthetic("pack:1 core:1 pu:1");
  const Sweep sweep =
      SinglePoint(LoadConfig(kExamples / (example.name + ".toml"), {"trials=1"}, here));
  const ExperimentConfig& config = sweep.points.front().config;
  const TraceSource& source = config.trace.sources.at(0);
  EXPECT_EQ(source.format, example.format);
  EXPECT_EQ(source.jobs, example.jobs);
  EXPECT_EQ(source.requests, example.requests);
  EXPECT_EQ(source.rejected, example.rejected);
  EXPECT_EQ(source.skipped, 0);
  RunFolder run = RunFolder::Create(
      folder.path(), sweep, {.topology = here, .command_line = "a test", .scheduling = "none"});
  const Plan& plan = sweep.points.front().plan;
  const HarnessResult result =
      RunCells(config, plan, plan.cells,
               {.run = run.path(), .topology = *config.topology, .hosts = SimulatedHosts(config)});
  EXPECT_EQ(result.done, static_cast<int>(plan.cells.size()));
  WriteSummary(run.path());
  run.Finish("done");
  const auto manifest = nlohmann::json::parse(ReadText(run.path() / "manifest.json"));
  EXPECT_EQ(manifest["experiment"]["trace"]["files"][0]["format"], example.format);
  EXPECT_EQ(manifest["experiment"]["trace"]["files"][0]["fnv1a"].get<std::string>().size(), 16U);
  const std::string said = (folder.path() / "check.txt").string();
  const std::string check = fmt::format("python3 {} {} > {}", InSource("tests/check_results.py"),
                                        run.path().string(), said);
  EXPECT_EQ(std::system(check.c_str()), 0) << ReadText(said).substr(0, 5000);
}

INSTANTIATE_TEST_SUITE_P(Examples, TraceExamplesTest,
                         testing::Values(Example{"trace_jobs", "pollux", 23, 0, 9},
                                         Example{"trace_jobs_gavel", "gavel", 24, 0, 0},
                                         Example{"trace_requests", "azure-llm", 0, 60, 0},
                                         Example{"trace_tenants", "disb", 0, 180, 0},
                                         Example{"trace_malleable", "elastisim", 24, 0, 0},
                                         Example{"trace_malleable_share", "swf", 80, 0, 0},
                                         Example{"trace_containers", "tfcs", 12, 0, 0}),
                         [](const auto& info) { return info.param.name; });

TEST(TraceExamples, EveryOneIsTried) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kExamples))
    files += entry.path().filename().string().starts_with("trace_") &&
             entry.path().extension() == ".toml" &&
             entry.path().stem() != "trace_generate";  // No experiment, a generator's.
  EXPECT_EQ(files, 7U) << "add the new one to the list above";
}

}  // namespace
}  // namespace cosched
