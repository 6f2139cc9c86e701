#pragma once
// For tests that run whole experiments in virtual time.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "experiments/analysis/metrics.h"
#include "experiments/harness/harness.h"
#include "experiments/launch/run_folder.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {

// Runs a simulated experiment as `cosched run` would, and has check_results.py look at what it left
// below `folder`. Gives the run's folder.
inline std::filesystem::path RunChecked(
    const TemporaryFolder& folder, const Topology& here, const ExperimentConfig& config,
    HarnessResult* result = nullptr,
    const std::function<std::unique_ptr<Policy>(const std::string&)>& make_policy = {}) {
  const Sweep sweep = SinglePoint(config);
  const SweepPoint& point = sweep.points.front();
  RunFolder run =
      RunFolder::Create(folder.path() / "results", sweep,
                        {.topology = here, .command_line = "a test", .scheduling = "none"});
  const HarnessResult done = RunCells(point.config, point.plan, point.plan.cells,
                                      {.run = run.path(),
                                       .topology = *point.config.topology,
                                       .hosts = SimulatedHosts(point.config),
                                       .make_policy = make_policy});
  if (result != nullptr) *result = done;
  WriteSummary(run.path());
  run.Finish("done");
  const std::string said = (folder.path() / "check.txt").string();
  const std::string check = fmt::format("python3 {} {} > {}", InSource("tests/check_results.py"),
                                        run.path().string(), said);
  EXPECT_EQ(std::system(check.c_str()), 0) << ReadText(said).substr(0, 5000);
  return run.path();
}

}  // namespace cosched
