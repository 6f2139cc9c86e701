// A real tenant of a host that somebody else steers too, and clients that do not follow at once:
// what the host believes, what it records and when it loses patience.

#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"
#include "experiments/wire/tenant_protocol.h"
#include "tests/native/real_tenant_fixture.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using Verb = ControlRequest::Verb;

class SteeredTenantTest : public RealTenantTest {
 protected:
  SteeredTenantTest() { options_.run = OwnerName() + "steered"; }
  // The resizes reported until `enough` of them are there, and `afterwards` some more.
  std::vector<ResizeSample> Resizes(size_t enough, Duration afterwards = Duration(0)) {
    std::vector<ResizeSample> all;
    const auto take = [&] {
      const std::vector<ResizeSample> more = Host().TakeResizes();
      all.insert(all.end(), more.begin(), more.end());
    };
    const TimePoint patience = Host().GetClock().Now() + std::chrono::seconds(30);
    while (all.size() < enough && Host().GetClock().Now() < patience) {
      ExpectNothing(milliseconds(10));
      take();
    }
    ExpectNothing(afterwards);
    take();
    return all;
  }
  static std::vector<ResizeSample> HalvingSteps(std::vector<ResizeSample> resizes) {
    std::erase_if(resizes, [](const ResizeSample& resize) { return resize.cause != "halving"; });
    return resizes;
  }
  static TimePoint RequestOf(const ResizeSample& resize) { return resize.time - resize.taken; }
  void ExpectNothing(Duration patience) {
    const std::optional<HostEvent> event = Next(patience);
    const auto* failed = event ? std::get_if<HostFailed>(&*event) : nullptr;
    if (failed != nullptr) FAIL() << failed->reason;
    EXPECT_FALSE(event);
  }
};

// Four threads that have lost a core are two at once and one a second later. They say so, and
// nobody fails them.
TEST_F(SteeredTenantTest, ClientThatHalvesMayHaveMoreThreadsThanCoresForAWhile) {
  options_.client = Client::kHalving;
  Start(1'000'000, Elasticity::kMalleable, {1, 4});
  ExpectSettled();
  ExpectSteps();
  Host().TakeResizes();
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ExpectSettled();
  const std::vector<ResizeSample> resizes = HalvingSteps(Resizes(cores_ == one_ ? 2 : 3));
  ASSERT_EQ(resizes.size(), 2u);
  EXPECT_EQ(resizes[0].before, (Split{1, 4}));
  EXPECT_EQ(resizes[0].after, (Split{1, 2}));
  EXPECT_EQ(resizes[0].cores, one_);
  EXPECT_EQ(resizes[1].after, (Split{1, 1}));
  EXPECT_GE(RequestOf(resizes[1]) - RequestOf(resizes[0]), milliseconds(990));
  ExpectSteps();
  EXPECT_EQ(OnlySample().compute_threads, 1);
  Host().Grant(job_, Place::Whole(cores_, {1, 4}));  // The tenant grows in one step.
  ExpectSettled();
  const std::vector<ResizeSample> grown = Resizes(1);
  ASSERT_EQ(grown.size(), 1u);
  EXPECT_EQ(grown[0].before, (Split{1, 1}));
  EXPECT_EQ(grown[0].after, (Split{1, 4}));
}

TEST_F(SteeredTenantTest, ClientThatIsOffKeepsItsThreads) {
  options_.client = Client::kOff;
  Start(1'000'000, Elasticity::kMalleable);
  ExpectSettled();
  ExpectSteps();
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ExpectSettled();
  ExpectSteps();
  EXPECT_EQ(OnlySample().compute_threads, cores_.Count());
  Host().Pause(job_);
  ExpectSettled();
  const int64_t paused = OnlySample().steps;
  ExpectNothing(milliseconds(300));
  EXPECT_EQ(OnlySample().steps, paused);
  Host().Grant(job_, Place::Whole(cores_, DefaultSplit(cores_.Count())));
  ExpectSettled();
  ExpectSteps();
  EXPECT_TRUE(Resizes(0).empty());
}

TEST_F(SteeredTenantTest, PausedByAPersonIsNoHang) {
  options_.timeouts.heartbeat = milliseconds(600);
  Start(1'000'000, Elasticity::kMalleable);
  ExpectSettled();
  ExpectSteps();
  ASSERT_TRUE(Steer(Verb::kPause));
  const int64_t paused = OnlySample().steps;
  ExpectNothing(milliseconds(1500));
  EXPECT_LE(OnlySample().steps, paused + 1);  // A step may end at the moment of the pause.
  ASSERT_TRUE(Steer(Verb::kResume));
  ExpectSteps();
  const std::vector<ResizeSample> resizes = Resizes(2);
  ASSERT_EQ(resizes.size(), 2u);
  for (const ResizeSample& resize : resizes) EXPECT_EQ(resize.cause, "ctl");
  EXPECT_EQ(resizes[0].after, (Split{0, 0}));
}

// The host's grants hold for it all the same.
TEST_F(SteeredTenantTest, PausedByAPersonItStillFollowsItsHost) {
  if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  Start(1'000'000, Elasticity::kMalleable);
  ExpectSettled();
  ExpectSteps();
  ASSERT_TRUE(Steer(Verb::kPause));
  const int64_t paused = OnlySample().steps;
  for (const CpuSet& cores : {one_, cores_ - one_}) {
    Host().Grant(job_, Place::Whole(cores, {1, 1}));
    ASSERT_NO_FATAL_FAILURE(ExpectSettled());
    ExpectNothing(milliseconds(500));
  }
  Host().Pause(job_);
  ExpectSettled();
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ExpectSettled();
  EXPECT_LE(OnlySample().steps, paused + 1);
  ASSERT_TRUE(Steer(Verb::kResume));
  ExpectSteps();
  EXPECT_EQ(OnlySample().compute_threads, 1);
}

// The host writes the cpuset and then sends the grant: the tenant sees both and tells of one.
TEST_F(SteeredTenantTest, GrantThroughTheCpusetIsRecordedOnce) {
  if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
  if (const auto probe = Cgroup::Probe(); !probe.cpuset) GTEST_SKIP() << probe.why_not;
  options_.actuator = Actuator::kCpuset;
  Start(1'000'000, Elasticity::kMalleable);
  ExpectSettled();
  ExpectSteps();
  Host().TakeResizes();
  for (int i = 0; i < 6; ++i) {
    const CpuSet& cores = i % 2 == 0 ? one_ : cores_;
    Host().Grant(job_, Place::Whole(cores, DefaultSplit(cores.Count())));
    ExpectSettled();
    // Longer than a change of the cpuset waits for a grant that explains it, or for its pins.
    const std::vector<ResizeSample> resizes = Resizes(1, milliseconds(600));
    ASSERT_EQ(resizes.size(), 1u) << "grant " << i;
    EXPECT_EQ(resizes[0].cause, "grant");
    EXPECT_EQ(resizes[0].after, DefaultSplit(cores.Count()));
    EXPECT_EQ(resizes[0].cores, cores);
    const std::vector<ActuationSample> moved = Host().TakeActuations();
    ASSERT_EQ(moved.size(), 1u);
    EXPECT_EQ(moved[0].actuator, "cpuset");
  }
}

}  // namespace
}  // namespace cosched
