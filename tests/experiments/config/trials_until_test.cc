// `trials = "until makespan ± 2 %"`: what may be written, and the looks that keep its level.

#include "experiments/config/trials_until.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/config/experiment_config.h"
#include "experiments/config/gate_table.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TrialsUntilTest, IsReadAsItIsTold) {
  for (const char* text :
       {"until makespan ± 2.5 %", "until makespan +- 2.5%", "  until   makespan +/-2.5 %"}) {
    const std::optional<TrialsUntil> until = ParseTrialsUntil(text);
    ASSERT_TRUE(until) << text;
    EXPECT_EQ(until->metric, "makespan");
    EXPECT_DOUBLE_EQ(until->within, 0.025);
    EXPECT_EQ(ToString(*until), "until makespan ± 2.5 %");
  }
  for (const char* text :
       {"3", "until", "until makespan", "until makespan ± 2", "until ± 2 %", "until makespan ± 0 %",
        "until makespan ± 100 %", "until makespan ± 1.2.3 %", "till makespan ± 2 %"}) {
    EXPECT_FALSE(ParseTrialsUntil(text)) << text;
  }
}

TEST(TrialsUntilTest, LooksGrowByHalfAndEndAtTheMost) {
  EXPECT_THAT(TrialLooks(40), ElementsAre(8, 12, 18, 27, 40));
  EXPECT_THAT(TrialLooks(6), ElementsAre(6));
  EXPECT_THAT(TrialLooks(8), ElementsAre(8)) << "one of 7 is worth no look of its own";
}

TEST(TrialsUntilTest, EveryLookCanHaveItsLevelAndAllOfThemCostFivePercent) {
  for (int most = kFewestSequentialTrials; most < 500; ++most) {
    const std::vector<int> looks = TrialLooks(most);
    EXPECT_EQ(looks.back(), most);
    double missed = 0;
    for (size_t i = 0; i < looks.size(); ++i) {
      if (i > 0) EXPECT_LT(looks[i - 1], looks[i]);
      missed += 1 - LevelOfLook(looks.size());
      EXPECT_GE(1 - 2 * std::exp2(-looks[i]), LevelOfLook(looks.size())) << most;
    }
    EXPECT_LE(missed, 0.05 + 1e-12);
  }
}

class TrialsConfigTest : public testing::Test {
 protected:
  ExperimentConfig Load(const std::vector<std::string>& overrides) {
    WriteText(folder_.path() / "t.toml", R"(name = "t"
policies = ["strict"]
most_trials = 12
[[workload]]
model = "lenet5"
[[gate]]
metric = "makespan"
policy = "strict"
max = 10
[trace]
)");
    return LoadConfig(folder_.path() / "t.toml", overrides, Topology::ThisMachine());
  }
  void ExpectRefused(const std::string& override_text, const std::string& key,
                     const std::string& said) {
    try {
      Load({override_text});
      ADD_FAILURE() << override_text;
    } catch (const InputError& error) {
      EXPECT_EQ(error.details().key, key);
      EXPECT_THAT(std::string(error.what()), HasSubstr(said));
    }
  }
  const TemporaryFolder folder_;
};

TEST_F(TrialsConfigTest, TheMostCountsOnlyWhereTrialsGoOn) {
  const ExperimentConfig sequential = Load({"trials=until makespan ± 2 %"});
  EXPECT_TRUE(sequential.until);
  EXPECT_EQ(sequential.trials, 12);
  const ExperimentConfig fixed = Load({"trials=2"});  // As --trials sets it.
  EXPECT_FALSE(fixed.until);
  EXPECT_EQ(fixed.trials, 2);
}

TEST_F(TrialsConfigTest, WhatIsWrongIsToldWithItsKey) {
  ExpectRefused("trials=until makespan", "trials", "until makespan ± 2 %");
  ExpectRefused("most_trials=5", "most_trials", "from 6");
  ExpectRefused("gate.0.policy=strikt", "gate.0.policy", "did you mean \"strict\"?");
  ExpectRefused("gate.0.against=strict", "gate.0.against", "own policy");
  ExpectRefused("gate.0.min=11", "gate.0.min", "above max");
  ExpectRefused("gate.0.service=x", "gate.0.service", "mode = \"serve\"");
  ExpectRefused("gate.0.limit=1", "gate.0.limit", "unknown key");
  ExpectRefused("gate=[{ metric = 'makespan', policy = 'strict' }]", "gate.0", "no limit");
}

}  // namespace
}  // namespace cosched
