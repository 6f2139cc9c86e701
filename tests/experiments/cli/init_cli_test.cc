// cosched init: what it writes runs.

#include "tests/experiments/cli/cli_fixture.h"

namespace cosched {
namespace {

class InitCliTest : public CliTest {};

TEST_F(InitCliTest, WritesAnExperimentThatRuns) {
  const Ended made = Run({"init", "my-own"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "my-own.toml is an experiment; cosched run my-own.toml runs it\n");
  const Ended ran = Run({"run", "my-own.toml", "--no-plots", "--trials", "1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("results/my-own/"), std::string::npos) << ran.out;
}

TEST_F(InitCliTest, NoFileIsOverwritten) {
  ExpectRefused({"init", "x"}, {"NAME", "x.toml is there already", "a new name"});
}

TEST_F(InitCliTest, ANameIsNoPath) {
  for (const char* name : {"a/b", "..", ".x", "a b"})
    ExpectRefused({"init", name}, {"NAME", "letters, digits"});
}

}  // namespace
}  // namespace cosched
