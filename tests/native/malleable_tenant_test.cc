// Real CNN programs on real cores: does a tenant follow its host while it trains, and is it as fast
// after a resize as one that was never resized?

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <set>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/os/realtime.h"
#include "tests/native/real_tenant_fixture.h"
#include "workloads/training_job.h"

namespace cosched {
namespace {

using std::chrono::seconds;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

TEST_F(RealTenantTest, FollowsItsGrantsWhileItTrains) {
  Start(1'000'000, Elasticity::kMalleable);
  ExpectSettled();
  ExpectSteps();
  for (const CpuSet& cores : {one_, cores_, one_, cores_}) {
    Host().Grant(job_, Place::Whole(cores, DefaultSplit(cores.Count())));
    ExpectSettled();
    const TenantSample sample = OnlySample();
    EXPECT_EQ(sample.granted, cores);
    EXPECT_EQ(sample.compute_threads, cores.Count());
    EXPECT_LE(sample.runnable_threads, cores.Count());
    ExpectSteps();
  }
  Host().Pause(job_);
  ExpectSettled();
  const Duration run_time = OnlySample().run_time;
  EXPECT_FALSE(Next(std::chrono::milliseconds(300)));
  EXPECT_LT(OnlySample().run_time - run_time, std::chrono::milliseconds(5));
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ExpectSettled();
  ExpectSteps();
  std::set<int> threads;
  for (const StepSample& step : Host().TakeSteps()) threads.insert(step.threads);
  EXPECT_TRUE(threads.contains(1));
  EXPECT_TRUE(threads.contains(cores_.Count()));
  Host().Stop(job_);
}

TEST_F(RealTenantTest, RigidOneKeepsItsThreads) {
  Start(1'000'000, Elasticity::kRigid);
  ExpectSettled();
  ExpectSteps();
  Host().Grant(job_, Place::Whole(one_, {1, 1}));
  ExpectSettled();
  ExpectSteps();
  EXPECT_EQ(OnlySample().compute_threads, cores_.Count());
}

TEST_F(RealTenantTest, FinishesItsSteps) {
  Start(20, Elasticity::kMalleable);
  ExpectSettled();
  const std::optional<HostEvent> event = Next(seconds(60));
  ASSERT_TRUE(event && std::holds_alternative<HostFinished>(*event));
  EXPECT_EQ(Host().TakeSteps().size(), 20u);
}

TEST_F(RealTenantTest, UnknownModelIsItsFailureWithTheReason) {
  TenantSpec spec;
  spec.model = "nope";
  Host().Describe(job_, spec);
  Host().Start(Job{job_, "", {}, Elasticity::kMalleable, 0}, Place::Whole(one_, {1, 1}));
  const std::optional<HostEvent> event = Next(seconds(60));
  ASSERT_TRUE(event && std::holds_alternative<HostFailed>(*event));
  EXPECT_NE(std::get<HostFailed>(*event).reason.find("nope"), std::string::npos);
}

// See Reaper: a real-time thread that reaps may spin in the kernel until it is throttled.
TEST_F(RealTenantTest, RealtimeHostDoesNotSpinWhenTenantsEnd) {
  const RealtimeScope realtime;
  if (!realtime.granted()) GTEST_SKIP() << realtime.description();
  const auto used = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  constexpr int kTenants = 12;
  for (int i = 1; i <= kTenants; ++i) {
    Job job;
    job.id = JobId{i};
    job.request = {1, cores_.Count(), cores_.Count()};
    TenantSpec spec;
    spec.model = "lenet5";
    spec.steps = 10 + 5 * (i % 2);
    Host().Describe(job.id, spec);
    Host().Start(job, Place::Whole(cores_, DefaultSplit(cores_.Count())));
  }
  Duration longest{0};
  for (int ended = 0; ended < kTenants;) {
    const Duration before = used();
    const std::optional<HostEvent> event = Next(std::chrono::milliseconds(10));
    longest = std::max<Duration>(longest, used() - before);
    Host().Sample();
    if (event && std::holds_alternative<HostFailed>(*event)) {
      FAIL() << std::get<HostFailed>(*event).reason;
    }
    ended += event && std::holds_alternative<HostFinished>(*event) ? 1 : 0;
  }
  std::cout << "the host used " << ToSeconds(longest) * 1e3 << " ms of CPU time at most\n";
  EXPECT_LT(longest, std::chrono::milliseconds(300));  // One spin is about 900 ms.
}

// Two equal programs take turns, so that both see the same machine; one is resized 2 -> 1 -> 2
// before each round. Steps are compared in pairs of neighbours, in the order ABBA, and the bound is
// what the scatter of the pairs allows.
class SpeedComparison {
 public:
  SpeedComparison() : resized_(Settings()), static_(Settings()) {
    resized_.session().Resize(two_, {1, 2});
    static_.session().Resize(two_, {1, 2});
    for (int i = 0; i < 3; ++i) {
      resized_.Step();
      static_.Step();
    }
  }

  void Run() {
    constexpr int kRounds = 15, kPairs = 8;
    for (int round = 0; round < kRounds; ++round) {
      ResizeAndBack();
      for (int pair = 0; pair < kPairs; ++pair) {
        const bool static_first = pair % 2 == 0;
        const double first = Time(static_first ? &static_ : &resized_);
        const double second = Time(static_first ? &resized_ : &static_);
        ratios_.push_back(std::log(static_first ? second / first : first / second));
      }
    }
  }
  double LogRatio() const { return Median(ratios_); }
  // Three standard errors of the median, from the median absolute deviation.
  double Noise() const {
    std::vector<double> deviations;
    for (const double ratio : ratios_) deviations.push_back(std::abs(ratio - LogRatio()));
    const double sigma = 1.4826 * Median(deviations);
    return 3 * 1.2533 * sigma / std::sqrt(static_cast<double>(ratios_.size()));
  }

 private:
  JobSettings Settings() const {
    JobSettings settings;
    settings.model = "lenet5";
    settings.batch = 64;
    settings.session.intra_op_parallelism_threads = 2;
    settings.session.binding = ThreadPools::Binding::kEachToItsCore;
    settings.session.topology = &topology_;
    return settings;
  }
  static double Time(TrainingJob* job) {
    const auto start = std::chrono::steady_clock::now();
    job->Step();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  void ResizeAndBack() {
    ThreadPools& pools = resized_.session().Pools();
    resized_.session().Resize(FirstCores(1), {1, 1});
    ASSERT_TRUE(pools.WaitSettled(seconds(10)));
    ASSERT_EQ(pools.ActiveThreads(), 1);
    resized_.Step();
    resized_.session().Resize(two_, {1, 2});
    ASSERT_TRUE(pools.WaitSettled(seconds(10)));
    ASSERT_EQ(pools.ActiveThreads(), 2);
    resized_.Step();
    static_.Step();  // Both begin with their caches as the other left them.
  }

  const Topology topology_ = Topology::ThisMachine();
  const CpuSet two_ = FirstCores(2);
  TrainingJob resized_, static_;
  std::vector<double> ratios_;
};

TEST(ResizedTenantTest, ReturnsToItsStaticSpeed) {
  if (Topology::ThisMachine().OneThreadPerCore().Count() < 2) GTEST_SKIP() << "needs two cores";
  constexpr double kAlwaysAllowed = 0.05;  // Below this nobody would care.
  constexpr double kTooNoisy = 0.4;
  SpeedComparison comparison;
  comparison.Run();
  const double ratio = std::exp(comparison.LogRatio());
  std::cout << "step time after 2 -> 1 -> 2 over static: " << ratio << ", noise "
            << comparison.Noise() * 100 << " %\n";
  if (comparison.Noise() > kTooNoisy) GTEST_SKIP() << "this machine is too busy to tell";
  EXPECT_LE(std::abs(comparison.LogRatio()), std::max(kAlwaysAllowed, comparison.Noise()));
}

}  // namespace
}  // namespace cosched
