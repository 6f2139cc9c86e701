// `cosched compare` as a user calls it, on runs of the simulator with noise.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "experiments/records/csv.h"
#include "tests/experiments/cli/cli_fixture.h"
#include "tests/experiments/cli/noisy_experiment.h"

namespace cosched {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CompareCliTest : public CliTest {
 protected:
  CompareCliTest() {
    WriteText(folder_.path() / "noisy.toml",
              NoisyExperiment("trials = 10\nelasticity = [\"rigid\", \"malleable\"]\n"));
  }

  // The new run's folder below this one.
  std::string RunWith(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", "noisy.toml", "--no-plots"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const size_t at = ended.out.rfind("results: ") + 9;
    return ended.out.substr(at, ended.out.size() - at - 1);
  }

  // Makes every job of a run end `factor` times as late.
  void Slow(const std::filesystem::path& run, double factor) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path() / run)) {
      if (entry.path().filename() != "jobs.csv") continue;
      const std::string text = ReadText(entry.path());
      const std::string header = text.substr(0, text.find('\n') + 1);
      const auto columns = static_cast<size_t>(std::count(header.begin(), header.end(), ',') + 1);
      CsvReader reader(entry.path());
      const size_t finish = reader.Column("finish_time");
      std::string slowed = header;
      while (reader.Next()) {
        for (size_t column = 0; column < columns; ++column) {
          slowed +=
              fmt::format("{}\"{}\"", column == 0 ? "" : ",",
                          column == finish ? fmt::format("{:.6f}", reader.Number(column) * factor)
                                           : std::string(reader.Text(column)));
        }
        slowed += '\n';
      }
      WriteText(entry.path(), slowed);
    }
  }
};

TEST_F(CompareCliTest, TwoRunsOfTheSameThingPassTheCheckUnlessOneIsTamperedWith) {
  const std::string a = RunWith({"--seed", "1"}), b = RunWith({"--seed", "2"});
  const Ended passed = Run({"compare", "--aa", a, b});
  EXPECT_EQ(passed.exit_code, 0) << passed.out << passed.err;
  EXPECT_THAT(passed.out, HasSubstr("A/A passed: none of 8 comparisons differs at 5 %"));

  Slow(b, 1.2);
  const Ended failed = Run({"compare", "--aa", a, b});
  EXPECT_EQ(failed.exit_code, 1) << failed.out << failed.err;
  EXPECT_THAT(failed.out, HasSubstr("A/A FAILED"));
}

TEST_F(CompareCliTest, ARepeatedSimulationIsNoSecondMeasurement) {
  const std::string a = RunWith({}), again = RunWith({});
  const Ended refused = Run({"compare", "--aa", a, again});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--aa"), HasSubstr("byte by byte")));
  const Ended both = Run({"compare", "--no-plots", a, again});
  EXPECT_THAT(both.out, AllOf(HasSubstr("byte by byte"), HasSubstr("10 trials"),
                              Not(HasSubstr("20 trials"))));
}

TEST_F(CompareCliTest, DamagedRecordsAreToldAndExitOne) {
  const std::string run = RunWith({"--trials", "2"});
  EXPECT_EQ(Run({"compare", "--no-plots", run}).exit_code, 0);
  std::filesystem::remove(folder_.path() / run / "strict" / "rigid" / "1" / "cell.json");
  const Ended ended = Run({"compare", "--no-plots", run});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("7 of 8 cells"), HasSubstr("strict/rigid/1")));
}

}  // namespace
}  // namespace cosched
