// Cells side by side, and very many jobs in one: what the simulator is fast for.

#include "experiments/launch/local_cells.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>

#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/os/interrupt.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

Sweep SmallSweep(const std::filesystem::path& folder) {
  WriteText(folder / "x.toml", R"(
name = "x"
backend = "simulated"
trials = 3
policies = ["strict", "equal-share", "max-prop"]
elasticity = ["rigid", "malleable"]
[machine]
topology = "pack:1 [numa] l3:1 core:8 pu:1"
profile = ")" + InSource("experiments/profiles/example.json") +
                                   R"("
[trace]
jobs = 12
gap = { distribution = "exponential", mean_s = 0.2 }
[[workload]]
model = "resnet20"
steps = 30
cores = { min = 1, preferred = 4, max = 8 }
[sweep]
simulation.noise = [0.0, 0.1]
)");
  return LoadSweep(folder / "x.toml", {}, false, Topology::ThisMachine());
}

// Every file below a folder, by its path there.
std::map<std::string, std::string> Files(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    files[entry.path().lexically_relative(folder)] = {std::istreambuf_iterator<char>(stream), {}};
  }
  return files;
}

TEST(LocalCellsTest, RecordsAreTheSameHoweverManyRunSideBySide) {
  const TemporaryFolder folder;
  const Sweep sweep = SmallSweep(folder.path());
  const SignalScope signals;
  std::map<std::string, std::string> first;
  for (const int at_a_time : {1, 2, 7}) {
    const std::filesystem::path run = folder.path() / std::to_string(at_a_time);
    const HarnessResult result =
        RunLocally(sweep, sweep.cells,
                   {.run = run, .topology = Topology::ThisMachine(), .at_a_time = at_a_time});
    EXPECT_EQ(result.done, 36);
    EXPECT_FALSE(result.interrupted);
    const auto files = Files(run);
    if (first.empty()) first = files;
    EXPECT_GT(files.size(), 36U * 5);
    EXPECT_TRUE(files == first) << at_a_time << " at a time";
  }
}

TEST(LocalCellsTest, AnInterruptLeavesWholeCellsOnly) {
  const TemporaryFolder folder;
  const Sweep sweep = SmallSweep(folder.path());
  const SignalScope signals;
  std::raise(SIGINT);
  const HarnessResult result = RunLocally(
      sweep, sweep.cells,
      {.run = folder.path() / "run", .topology = Topology::ThisMachine(), .at_a_time = 3});
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.done, 0);
}

TEST(LocalCellsTest, AFailedWriteEndsAllWorkersAndIsTold) {
  const TemporaryFolder folder;
  const Sweep sweep = SmallSweep(folder.path());
  const SignalScope signals;
  WriteText(folder.path() / "run", "in the way");
  EXPECT_THROW(
      RunLocally(
          sweep, sweep.cells,
          {.run = folder.path() / "run", .topology = Topology::ThisMachine(), .at_a_time = 3}),
      OutputError);
}

// The million-job experiment, smaller; bench_simulator has it whole.
TEST(LocalCellsTest, TwentyThousandJobsAllFinish) {
  const TemporaryFolder folder;
  const Sweep sweep = LoadSweep(InSource("experiments/examples/million_jobs.toml"),
                                {"trace.jobs=20000"}, false, Topology::ThisMachine());
  const SignalScope signals;
  RunLocally(sweep, sweep.cells, {.run = folder.path(), .topology = Topology::ThisMachine()});
  for (const SweepCell& cell : sweep.cells) {
    const CellSummary summary = Summarize(folder.path(), cell.key);
    EXPECT_EQ(summary.status, "done") << summary.reason;
    EXPECT_EQ(summary.finished, 20'000) << ToString(cell.key);
    EXPECT_FALSE(summary.oversubscription);  // Nobody was sampled.
  }
}

}  // namespace
}  // namespace cosched
