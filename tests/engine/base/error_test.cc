// What a person reads when an input is wrong, and what we read when we are.

#include "engine/base/error.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/base/check.h"
#include "engine/base/split.h"

namespace cosched {
namespace {

InputErrorDetails Details(std::string file, int line, std::string key, std::string allowed) {
  InputErrorDetails details;
  details.file = std::move(file);
  details.line = line;
  details.key = std::move(key);
  details.problem = "bad";
  details.allowed = std::move(allowed);
  return details;
}

TEST(InputErrorTest, LeavesOutWhatDoesNotApply) {
  EXPECT_STREQ(InputError(Details("a.toml", 3, "jobs.model", "lenet5")).what(),
               "a.toml:3: jobs.model: bad; allowed: lenet5");
  EXPECT_STREQ(InputError(Details("a.toml", 0, "", "")).what(), "a.toml: bad");
  EXPECT_STREQ(InputError(Details("", 0, "--cores", "")).what(), "--cores: bad");
  EXPECT_STREQ(InputError(Details("", 0, "", "")).what(), "bad");
  EXPECT_EQ(InputError(Details("a.toml", 3, "k", "")).details().line, 3);
}

// A file's names are quoted, whatever they are.
TEST(InputErrorTest, IsOneLineOfBoundedLength) {
  EXPECT_STREQ(InputError({.file = "f", .problem = "\x1b[2J\nb\x7f"}).what(),
               "f: \\x1b[2J\\x0ab\\x7f");
  EXPECT_STREQ(InputError({.problem = "größer"}).what(), "größer");
  EXPECT_LT(std::string(InputError({.problem = std::string(5'000'000, 'n')}).what()).size(), 3000u);
}

TEST(SplitTest, ElasticityTextGoesBothWays) {
  for (Elasticity elasticity :
       {Elasticity::kRigid, Elasticity::kMoldable, Elasticity::kMalleable}) {
    Elasticity parsed{};
    EXPECT_TRUE(ParseElasticity(ToString(elasticity), &parsed));
    EXPECT_EQ(parsed, elasticity);
  }
  Elasticity untouched = Elasticity::kMoldable;
  EXPECT_FALSE(ParseElasticity("Rigid", &untouched));
  EXPECT_FALSE(ParseElasticity("", &untouched));
  EXPECT_EQ(untouched, Elasticity::kMoldable);
}

TEST(SplitTest, DefaultSplitHasAtLeastOneThread) {
  EXPECT_EQ(DefaultSplit(4), (Split{1, 4}));
  EXPECT_EQ(DefaultSplit(0), (Split{1, 1}));
}

TEST(CheckDeathTest, PrintsPlaceConditionAndMessage) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const int cores = -1;
  EXPECT_DEATH(CHECK(cores > 0) << "cores = " << cores,
               "error_test.cc:.*CHECK\\(cores > 0\\) failed: cores = -1");
}

}  // namespace
}  // namespace cosched
