#include "experiments/tenant/halving.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class HalvingTest : public ::testing::Test {
 protected:
  std::optional<Split> StepAfter(Split now, Split wanted, milliseconds time) {
    return halving_.Step(now, wanted, start_ + time);
  }

  const Halving::Clock::time_point start_ = Halving::Clock::now();
  Halving halving_;
};

TEST_F(HalvingTest, ShrinksByHalvesASecondApart) {
  halving_.Begin(start_);
  const Split wanted{1, 1};
  EXPECT_EQ(StepAfter({1, 8}, wanted, seconds(0)), (Split{1, 4}));
  EXPECT_EQ(StepAfter({1, 4}, wanted, milliseconds(999)), std::nullopt);
  EXPECT_EQ(StepAfter({1, 4}, wanted, seconds(1)), (Split{1, 2}));
  EXPECT_EQ(StepAfter({1, 2}, wanted, milliseconds(1999)), std::nullopt);
  EXPECT_EQ(StepAfter({1, 2}, wanted, seconds(2)), (Split{1, 1}));
  EXPECT_EQ(StepAfter({1, 1}, wanted, seconds(9)), std::nullopt);
}

TEST_F(HalvingTest, NeverGoesBelowWhatIsWanted) {
  halving_.Begin(start_);
  EXPECT_EQ(StepAfter({1, 8}, {1, 3}, seconds(0)), (Split{1, 4}));
  EXPECT_EQ(StepAfter({1, 4}, {1, 3}, seconds(1)), (Split{1, 3}));
  EXPECT_EQ(StepAfter({1, 3}, {1, 3}, seconds(2)), std::nullopt);
}

TEST_F(HalvingTest, GrowsInOneStep) {
  halving_.Begin(start_);
  EXPECT_EQ(StepAfter({1, 1}, {2, 8}, seconds(0)), (Split{2, 8}));
  EXPECT_EQ(StepAfter({2, 8}, {2, 8}, seconds(1)), std::nullopt);
}

TEST_F(HalvingTest, AnotherGrantBeginsAtOnce) {
  halving_.Begin(start_);
  EXPECT_EQ(StepAfter({2, 8}, {1, 1}, seconds(0)), (Split{1, 4}));
  halving_.Begin(start_ + milliseconds(10));
  EXPECT_EQ(StepAfter({1, 4}, {1, 1}, milliseconds(10)), (Split{1, 2}));
}

}  // namespace
}  // namespace cosched
