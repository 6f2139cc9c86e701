#include "experiments/hosts/hold_overshoot.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

HoldSample Hold(Duration planned, Duration overshoot) {
  HoldSample hold;
  hold.begin = TimePoint(milliseconds(7));
  hold.planned_end = hold.begin + planned;
  hold.end = hold.planned_end + overshoot;
  return hold;
}

HoldOvershoot Holds(int count, Duration planned, Duration overshoot) {
  HoldOvershoot holds;
  for (int i = 0; i < count; ++i) holds.Add(Hold(planned, overshoot));
  return holds;
}

TEST(HoldOvershootTest, NothingIsSaidOfADeviceThatKeepsItsTimes) {
  EXPECT_FALSE(HoldOvershoot().Mark("accelerator"));
  EXPECT_FALSE(Holds(200, milliseconds(20), milliseconds(1)).Mark("accelerator"));
  EXPECT_FALSE(Holds(200, milliseconds(0), microseconds(900)).Mark("accelerator"));
}

TEST(HoldOvershootTest, AMillisecondOrTheTwentiethPartIsTooMuch) {
  const auto late = Holds(200, milliseconds(500), microseconds(1001)).Mark("accelerator");
  ASSERT_TRUE(late);
  EXPECT_NE(late->find("modelled device accelerator"), std::string::npos) << *late;
  EXPECT_NE(late->find("of 200 holds"), std::string::npos) << *late;
  EXPECT_NE(late->find("1.00 ms, or 0.2 %"), std::string::npos) << *late;
  EXPECT_TRUE(Holds(200, milliseconds(1), microseconds(51)).Mark("accelerator"));
}

TEST(HoldOvershootTest, OneInAHundredMayBeLate) {
  HoldOvershoot holds = Holds(198, milliseconds(20), microseconds(10));
  holds.Add(Hold(milliseconds(20), milliseconds(9)));
  holds.Add(Hold(milliseconds(20), milliseconds(9)));
  EXPECT_FALSE(holds.Mark("accelerator"));
  holds.Add(Hold(milliseconds(20), milliseconds(9)));
  EXPECT_TRUE(holds.Mark("accelerator"));
}

}  // namespace
}  // namespace cosched
