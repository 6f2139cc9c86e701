// Two policies in turn, as `cosched replay --from` runs them: each is told of its own ticks.

#include <gtest/gtest.h>

#include "experiments/launch/replay.h"

namespace cosched {
namespace {

class CountsTicks final : public Policy {
 public:
  CountsTicks(Duration period, int* ticks) : period_(period), ticks_(ticks) {}
  Allocation Decide(const MachineView&, const Event& event) override {
    *ticks_ += std::holds_alternative<Tick>(event) ? 1 : 0;
    return {};
  }
  Duration TickPeriod() const override { return period_; }

 private:
  const Duration period_;
  int* const ticks_;
};

// Ticks that each was told in 10 s, with a switch after 5.
std::pair<int, int> Ticks(Duration before, Duration after) {
  int first = 0, second = 0;
  const auto policy = SwitchAt(5, std::make_unique<CountsTicks>(before, &first),
                               std::make_unique<CountsTicks>(after, &second));
  const Duration period = policy->TickPeriod();
  MachineView view;
  for (; period > Duration(0) && ToSeconds(view.now) < 10; view.now += period)
    policy->Decide(view, Tick{});
  return {first, second};
}

TEST(SwitchAt, EachPolicyTicksAtItsOwnPeriod) {
  using std::chrono::seconds;
  EXPECT_EQ(Ticks(seconds(1), seconds(0)), std::pair(5, 0));
  EXPECT_EQ(Ticks(seconds(0), seconds(1)), std::pair(0, 5));
  EXPECT_EQ(Ticks(seconds(1), seconds(5)), std::pair(5, 1));
  EXPECT_EQ(Ticks(seconds(0), seconds(0)), std::pair(0, 0));
}

}  // namespace
}  // namespace cosched
