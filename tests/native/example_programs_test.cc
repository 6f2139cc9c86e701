// experiments/programs.toml as a user runs it, with fewer steps.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/native/cosched_command.h"
#include "tests/paths.h"

namespace cosched {
namespace {

TEST(ExampleProgramsTest, ProgramsOfOthersRunBesideCoschedsOwn) {
  const TemporaryFolder folder;
  const std::filesystem::path file = InSource("experiments/programs.toml");
  const int cores = std::min(2, Topology::ThisMachine().OneThreadPerCore().Count());
  std::vector<std::string> command = {"run",      file,          "--trials",   "1",
                                      "--policy", "equal-share", "--no-plots", "--force",
                                      "--out",    folder.path()};
  for (const auto& [workload, steps] : {std::pair("resnet20", 2), {"stencil", 20}, {"hashes", 6}}) {
    for (const auto& [key, value] :
         {std::pair("steps", steps), {"cores.preferred", cores}, {"cores.max", cores}}) {
      command.insert(command.end(),
                     {"--set", fmt::format("workload.{}.{}={}", workload, key, value)});
    }
  }
  const CommandOutcome run = CoschedCommand(command).End();
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
