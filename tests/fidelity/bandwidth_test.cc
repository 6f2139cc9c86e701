// Shares in the simulator against closed forms: a tenant is delayed by whole standstills, never
// slowed. Q is the budget of a period P, S the CPU time of one piece of work.

#include "experiments/hosts/simulation/bandwidth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/base/random.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

constexpr Duration kPeriod = milliseconds(100);

TimePoint At(double ms) { return TimePoint(FromSeconds(ms / 1e3)); }

// When n threads that begin at `start` have done so much work together.
TimePoint Finish(Bandwidth* bandwidth, int n, double seconds, TimePoint start) {
  double left = seconds;
  TimePoint now = start;
  while (true) {
    bandwidth->SetUse(bandwidth->Stalled() ? 0 : n, now);
    const std::optional<TimePoint> change = bandwidth->NextChange();
    const TimePoint done = now + FromSeconds(left / n);
    if (!bandwidth->Stalled() && (!change || done <= *change)) {
      bandwidth->SetUse(0, done);
      return done;
    }
    if (!bandwidth->Stalled()) left -= n * ToSeconds(*change - now);
    now = *change;
    bandwidth->Advance(now);
  }
}

// T = S/n + floor((S-)/Q)(P - Q/n), and the stalls are 75, 50 and 25 ms for 0.5, 1 and 1.5 cores
// with 2 threads.
TEST(BandwidthTest, WorkIsDelayedByWholeStandstills) {
  for (const int64_t milli : {100, 300, 500, 1000, 1300, 1900}) {
    for (const int n : {1, 2}) {
      if (milli >= 1000 * n) continue;
      const double quota = static_cast<double>(milli) / 1e3 * 0.1;
      for (const double work : {0.3 * quota, 0.99 * quota, quota, 1.01 * quota, 5.5 * quota}) {
        Bandwidth bandwidth(kPeriod);
        bandwidth.SetAmount({milli}, At(7));
        const double standstills = std::ceil(work / quota - 1e-9) - 1;
        const double expected = work / n + standstills * (0.1 - quota / n);
        const TimePoint end = Finish(&bandwidth, n, work, At(7));
        EXPECT_NEAR(ToSeconds(end - At(7)), expected, 1e-7) << milli << " x" << n << " " << work;
        EXPECT_NEAR(ToSeconds(bandwidth.TimeStalled(end)), standstills * (0.1 - quota / n), 1e-7);
      }
    }
  }
}

TEST(BandwidthTest, UnderSaturationItGetsItsAmountExactly) {
  Bandwidth bandwidth(kPeriod);
  bandwidth.SetAmount({300}, At(0));
  TimePoint now = At(0);
  double work = 0;
  for (int i = 0; i < 1000; ++i, work += 0.07) now = Finish(&bandwidth, 1, 0.07, now);
  const double periods = std::ceil(ToSeconds(now) / 0.1);
  EXPECT_LE(work, periods * 0.03 + 1e-6);
  EXPECT_GE(work, (periods - 1) * 0.03 - 1e-6);
}

TEST(BandwidthTest, AFullPeriodWithoutUseEndsItsPeriods) {
  Bandwidth bandwidth(kPeriod);
  bandwidth.SetAmount({500}, At(0));
  Finish(&bandwidth, 1, 0.04, At(0));
  EXPECT_FALSE(bandwidth.NextChange()) << "an idle tenant costs events";
  // The period from 100 to 200 ms had no use until 150: its end stays, the budget is full.
  EXPECT_NEAR(ToSeconds(Finish(&bandwidth, 1, 0.06, At(150)) - At(210)), 0, 3e-9);
  // From 300 on nothing was used for a whole period: the next one begins with the use.
  EXPECT_NEAR(ToSeconds(Finish(&bandwidth, 1, 0.06, At(433)) - At(433)), 0.11, 1e-7);
}

TEST(BandwidthTest, ANewAmountCountsAtOnceAndEndsAStandstill) {
  Bandwidth bandwidth(kPeriod);
  bandwidth.SetAmount({200}, At(0));
  bandwidth.SetUse(1, At(0));
  ASSERT_NEAR(ToSeconds(*bandwidth.NextChange() - At(20)), 0, 3e-9);
  bandwidth.Advance(*bandwidth.NextChange());
  EXPECT_TRUE(bandwidth.Stalled());
  EXPECT_EQ(bandwidth.NextChange(), At(100));
  bandwidth.Advance(At(25));
  EXPECT_NEAR(ToSeconds(bandwidth.TimeStalled(At(28))), 0.008, 3e-9);
  bandwidth.SetAmount({500}, At(30));
  EXPECT_FALSE(bandwidth.Stalled());
  bandwidth.SetUse(1, At(30));
  EXPECT_NEAR(ToSeconds(*bandwidth.NextChange() - At(80)), 0, 3e-9);
}

// The mean response, in seconds, of Poisson arrivals of the same work, in order, on one thread.
double MeanResponse(CpuShare amount, Duration period, double service, double load) {
  constexpr int kRequests = 200'000;
  Random random(17);
  Bandwidth bandwidth(period);
  bandwidth.SetAmount(amount, TimePoint());
  double arrival = 0, sum = 0;
  TimePoint free;
  for (int i = 0; i < kRequests; ++i) {
    arrival += random.Exponential(service / load);
    free = Finish(&bandwidth, 1, service, std::max(free, TimePoint(FromSeconds(arrival))));
    sum += ToSeconds(free.time_since_epoch()) - arrival;
  }
  return sum / kRequests;
}

// With periods that are short beside the work it is a slower core: M/D/1 at speed `amount`.
TEST(BandwidthTest, ShortPeriodsAreASlowerCore) {
  const double slowed = 0.05 / 0.5;
  const double response = MeanResponse({500}, milliseconds(1), 0.05, 0.25);
  const double rho = 0.5;
  EXPECT_NEAR(response, slowed * (1 + rho / (2 * (1 - rho))), 0.02 * slowed);
}

// Short requests at light load do not notice: M/D/1 at full speed. A slower core would take twice
// as long.
TEST(BandwidthTest, ShortRequestsAtLightLoadRunAtFullSpeed) {
  const double load = 0.1;
  const double response = MeanResponse({500}, kPeriod, 0.0005, load);
  const double full_speed = 0.0005 * (1 + load / (2 * (1 - load)));
  EXPECT_NEAR(response, full_speed, 0.02 * full_speed);
}

}  // namespace
}  // namespace cosched
