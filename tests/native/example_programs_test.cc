// experiments/programs.toml as a user runs it, with fewer steps.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "engine/base/topology.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/native/cosched_command.h"

namespace cosched {
namespace {

TEST(ExampleProgramsTest, ProgramsOfOthersRunBesideCoschedsOwn) {
  if (Topology::ThisMachine().OneThreadPerCore().Count() < 2) GTEST_SKIP() << "needs two cores";
  const TemporaryFolder folder;
  const std::filesystem::path file =
      std::filesystem::path(COSCHED_SOURCE_DIR) / "experiments/programs.toml";
  const CommandOutcome run =
      CoschedCommand({"run", file, "--trials", "1", "--policy", "equal-share", "--no-plots",
                      "--force", "--out", folder.path(), "--set", "workload.resnet20.steps=2",
                      "--set", "workload.stencil.steps=20", "--set", "workload.hashes.steps=6"})
          .End();
  ASSERT_EQ(run.exit_code, 0) << run.output << run.errors;
  std::map<std::string, int> finished;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!entry.is_directory() || !HasTable<JobRow>(entry.path())) continue;
    RowReader<JobRow> reader(entry.path(), &JobRow::workload, &JobRow::state, &JobRow::reason);
    while (const JobRow* job = reader.Next()) {
      EXPECT_EQ(job->state, "finished") << job->workload << ": " << job->reason;
      ++finished[std::string(job->workload)];
    }
  }
  EXPECT_EQ(finished.size(), 3U) << "each of the three is drawn";
}

}  // namespace
}  // namespace cosched
