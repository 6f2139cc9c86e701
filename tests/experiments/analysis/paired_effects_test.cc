#include "experiments/analysis/paired_effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TrialValues Values(const std::vector<double>& values) {
  TrialValues trials;
  for (size_t i = 0; i < values.size(); ++i) trials[{0, static_cast<int>(i) + 1}] = values[i];
  return trials;
}

TEST(PairedTrials, RatiosAreOfTrialsThatBothHave) {
  TrialValues base = Values({10, 20, 40});
  base[{0, 9}] = 1;
  const auto effect = PairedTrials(Values({11, 18, 36}), base);
  ASSERT_TRUE(effect);
  EXPECT_EQ(effect->pairs, 3);
  EXPECT_DOUBLE_EQ(effect->ratio, 0.9);
  EXPECT_DOUBLE_EQ(effect->interval.low, 0.9);
  EXPECT_DOUBLE_EQ(effect->interval.high, 1.1);
  EXPECT_DOUBLE_EQ(effect->interval.level, 0.75);
  EXPECT_EQ(effect->wins, 2);
  EXPECT_TRUE(effect->tested);
  EXPECT_FALSE(PairedTrials(Values({1}), {{{1, 1}, 1}}));
  EXPECT_FALSE(PairedTrials(Values({0, 0}), Values({1, 1})));  // A mean of no jobs has no ratio.
}

TEST(PairedTrials, CopiesAndSinglePairsAreNotTested) {
  EXPECT_FALSE(PairedTrials(Values({1, 2, 3}), Values({1, 2, 3}))->tested);
  EXPECT_FALSE(PairedTrials(Values({2, 2, 2}), Values({1, 1, 1}))->tested);
  EXPECT_FALSE(PairedTrials(Values({2}), Values({1}))->tested);
  EXPECT_TRUE(PairedTrials(Values({2, 2, 3}), Values({1, 1, 1}))->tested);
}

TEST(IndependentTrials, NothingPairsThem) {
  const auto effect = IndependentTrials(Values({20, 22, 24, 26}), Values({10, 11, 12}));
  ASSERT_TRUE(effect);
  EXPECT_NEAR(effect->ratio, 2.09, 0.05);
  EXPECT_DOUBLE_EQ(effect->effect, 1);
  EXPECT_DOUBLE_EQ(effect->p, 2.0 / 35);
  EXPECT_NEAR(effect->least_p, 2.0 / 35, 1e-12);
  EXPECT_THAT(EffectText(effect, effect->p), HasSubstr(" 0.057  +1.00      -"));
}

TEST(EffectTexts, PIsNeverZeroAndLevelsAreNotRoundedUp) {
  EXPECT_EQ(PText(0.0004), "<0.001");
  EXPECT_EQ(PText(0.031), "0.031");
  EXPECT_EQ(LevelText({.low = 1, .high = 2, .level = 0.75, .range = true}, 3), "range of 3: 75 %");
  EXPECT_EQ(LevelText({.low = 1, .high = 2, .level = 0.9375, .range = true}, 5),
            "range of 5: 93.7 %");
  EXPECT_EQ(LevelText({.low = 1, .high = 2, .level = 0.9612, .range = false}, 12), "96.1 %");
  EXPECT_EQ(LevelText({}, 1), "");
}

NamedEffect Effect(const std::string& name, double low, double high, double p) {
  TreatmentEffect effect;
  effect.pairs = 8;
  effect.ratio = (low + high) / 2;
  effect.interval = {.low = low, .high = high, .level = 0.99, .range = true};
  effect.spread = 0.1;
  effect.tested = true;
  return {name, name, effect, p};
}

TEST(EffectTexts, OneSentenceAQuestion) {
  EXPECT_THAT(
      Verdicts(
          {Effect("a", 0.85, 0.92, 0.01), Effect("b", 1.08, 1.15, 0.01),
           Effect("c", 2.51, 3.12, 0.01), Effect("d", 0.9, 1.1, 0.5), Effect("e", 0.9, 0.99, 0.06)},
          "strict", 5),
      ElementsAre("a is 8.0 to 15 % shorter than strict", "b is 8.0 to 15 % longer than strict",
                  "c is 2.5 to 3.1 times as long as strict",
                  ::testing::StartsWith("not decided: d, e: 8 trials can tell differences of 1")));
  // What was found is told beside what could have been.
  EXPECT_THAT(Verdicts({Effect("a", 0.85, 0.92, 0.01)}, "strict", 5),
              ElementsAre("a is 8.0 to 15 % shorter than strict",
                          ::testing::StartsWith("8 trials can tell differences of 1")));
  EXPECT_THAT(Verdicts({Effect("d", 0.9, 1.01, 0.02)}, "strict", 5),
              ElementsAre(HasSubstr("not decided: d (p below 0.05, but its interval holds 1): 8")));
  // 2 / 2^8 is above 0.05 / 100.
  EXPECT_THAT(Verdicts({Effect("d", 0.9, 1.1, 0.5)}, "strict", 100),
              ElementsAre(HasSubstr("8 trials cannot decide 100 comparisons, at least 12 are "
                                    "needed; about ")));
}

}  // namespace
}  // namespace cosched
