// `cosched trace generate` as a user meets it.

#include <gmock/gmock.h>

#include "tests/experiments/cli/cli_fixture.h"

namespace cosched {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kSpec = R"(arrivals = 500
[[generator]]
process = "renewal"
gap = { distribution = "exponential", mean_s = 2 }
tenant = "a"
workload = "lenet5"
[[generator]]
process = "bursts"
pause = { distribution = "exponential", mean_s = 9 }
burst = { mean_size = 3 }
tenant = "b, c"
workload = "lenet5"
)";

class TraceGenerateCliTest : public CliTest {
 protected:
  TraceGenerateCliTest() { WriteText(folder_.path() / "spec.toml", kSpec); }
};

TEST_F(TraceGenerateCliTest, EqualSeedsGiveEqualFilesThatCanBeRead) {
  const Ended first = Run({"trace", "generate", "spec.toml", "--out", "a.csv"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, "");
  EXPECT_THAT(first.err, HasSubstr("500 arrivals"));
  const Ended again = Run({"trace", "generate", "spec.toml", "--seed", "1"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, ReadText(folder_.path() / "a.csv"));
  EXPECT_THAT(again.out, StartsWith("arrival_s,"));
  EXPECT_THAT(again.out, HasSubstr("\"b, c\""));
  const Ended other = Run({"trace", "generate", "spec.toml", "--seed", "2"});
  EXPECT_NE(other.out, again.out);
  const Ended described = Run({"trace", "describe", "a.csv"});
  EXPECT_EQ(described.exit_code, 0) << described.err;
  EXPECT_THAT(described.out, HasSubstr("500 jobs"));
}

TEST_F(TraceGenerateCliTest, WhatItDrewAnExperimentRuns) {
  WriteText(folder_.path() / "jobs.toml",
            "arrivals = 5\n[[generator]]\nprocess = \"renewal\"\nworkload = \"lenet5\"\n"
            "gap = { distribution = \"weibull\", mean_s = 2, shape = 0.7 }\n");
  ASSERT_EQ(Run({"trace", "generate", "jobs.toml", "--out", "trace.csv"}).exit_code, 0);
  const Ended planned = Run({"run", "x.toml", "--dry-run", "--set", "trace={file='trace.csv'}"});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
}

TEST_F(TraceGenerateCliTest, BadInputIsToldAndLeavesNothing) {
  ExpectRefused({"trace", "generate", "none.toml"}, {"none.toml"});
  ExpectRefused({"trace", "generate", "spec.toml", "--seed", "x"}, {"--seed", "integer"});
  ExpectRefused({"trace", "generate", "spec.toml", "--to", "xml"}, {"--to", "cosched"});
  WriteText(folder_.path() / "bad.toml", "arrivals = 5\n[[generator]]\nprocess = \"zipf\"\n");
  ExpectRefused({"trace", "generate", "bad.toml", "--out", "b.csv"},
                {"bad.toml:3", "generator.0.process", "renewal, mmpp"});
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "b.csv"));
}

}  // namespace
}  // namespace cosched
