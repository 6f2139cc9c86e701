#include "engine/gates/credits.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

TEST(CreditsTest, ThoseLeftAndThoseOutAreAllThereAre) {
  Credits credits(2);
  EXPECT_EQ(credits.Left(), 2);
  credits.Take();
  credits.Take();
  EXPECT_EQ(credits.Left(), 0);
  EXPECT_EQ(credits.Out(), 2);
  EXPECT_DEATH(credits.Take(), "2 of 2 credits are out");
  credits.Return();
  EXPECT_EQ(credits.Left(), 1);
}

TEST(CreditsTest, OneThatNobodyTookIsRefused) {
  Credits credits(2);
  credits.Take();
  credits.Return();
  EXPECT_DEATH(credits.Return(), "nobody took");
}

TEST(CreditsTest, ALowerCapacityRevokesNothingAndGivesNoneUntilEnoughCameBack) {
  Credits credits(3);
  for (int i = 0; i < 3; ++i) credits.Take();
  credits.SetCapacity(1);
  EXPECT_EQ(credits.Out(), 3);
  credits.Return();
  credits.Return();
  EXPECT_EQ(credits.Left(), 0);
  credits.Return();
  EXPECT_EQ(credits.Left(), 1);
}

TEST(CreditsTest, AHigherCapacityGivesAtOnce) {
  Credits credits(1);
  credits.Take();
  credits.SetCapacity(3);
  EXPECT_EQ(credits.Left(), 2);
  EXPECT_DEATH(credits.SetCapacity(0), "0 credits");
}

}  // namespace
}  // namespace cosched
