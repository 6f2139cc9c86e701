#include "experiments/tenant/step_meter.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Steps one after the other, from time zero on.
class StepMeterTest : public ::testing::Test {
 protected:
  void Add(milliseconds duration, int images) {
    meter_.Add(now_, now_ + duration, images);
    now_ += duration;
  }
  double Rate() const { return meter_.Read(now_).images_per_second; }

  StepMeter meter_;
  StepMeter::Clock::time_point now_{};
};

TEST_F(StepMeterTest, NothingIsZero) {
  const StepMeter::Reading reading = meter_.Read(now_);
  EXPECT_EQ(reading.steps, 0);
  EXPECT_EQ(reading.images_per_second, 0);
}

TEST_F(StepMeterTest, YoungTenantsRateIsThatOfItsLife) {
  Add(milliseconds(100), 20);
  EXPECT_DOUBLE_EQ(Rate(), 200);
}

TEST_F(StepMeterTest, OnlyTheLastSecondCountsForTheRate) {
  for (int i = 0; i < 10; ++i) Add(milliseconds(250), 100);
  for (int i = 0; i < 10; ++i) Add(milliseconds(100), 20);
  EXPECT_NEAR(Rate(), 200, 1e-6);
  EXPECT_EQ(meter_.Read(now_).steps, 20);
  EXPECT_EQ(meter_.Read(now_).images, 1200);
}

TEST_F(StepMeterTest, StepThatReachesIntoTheSecondCountsInPart) {
  Add(seconds(4), 400);
  EXPECT_NEAR(Rate(), 100, 1e-6);
  Add(milliseconds(500), 100);
  EXPECT_NEAR(Rate(), 150, 1e-6);
}

TEST_F(StepMeterTest, RateOfOneThatStandsStillIsZero) {
  Add(milliseconds(100), 20);
  now_ += seconds(2);
  EXPECT_EQ(Rate(), 0);
  EXPECT_EQ(meter_.Read(now_).images, 20);
}

}  // namespace
}  // namespace cosched
