// A real pipeline behind a real socket: its requests are in stages side by side, its credits are
// granted with its cores, and it goes on in the middle of a call.

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <vector>

#include "engine/base/error.h"
#include "experiments/os/actuator.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/native/real_tenant_fixture.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PipelineTenantTest : public RealTenantTest {
 protected:
  void Run(const IncrementSettings& increment, OpenRequests open) {
    Run({.application = "increment", .open = open, .increment = increment});
  }
  void Run(const PipelineChoice& pipeline) {
    TenantSpec spec;
    spec.model = pipeline.application;
    spec.pipeline = pipeline;
    spec.mode = Mode::kInfer;
    spec.serves = true;
    spec.steps = 0;
    Start(spec, Elasticity::kMalleable, {cores_.Count(), cores_.Count()});
    ExpectSettled();
  }
  void Ask(int count, double work = 1) {
    for (int i = 0; i < count; ++i) {
      Host().Send(job_, {.id = next_id_++, .scheduled = Host().GetClock().Now(), .work = work});
    }
  }
  void Collect() {
    for (const RequestSample& sample : Host().TakeRequests()) {
      EXPECT_TRUE(answered_.insert(sample.id).second) << sample.id;
      EXPECT_EQ(sample.failed, failing_.contains(sample.id)) << sample.id;
      EXPECT_LE(sample.received, sample.started);
      EXPECT_LE(sample.started, sample.finished);
    }
  }
  void ExpectAnswered(size_t count) {
    for (int i = 0; i < 1000 && answered_.size() < count; ++i) {
      ASSERT_FALSE(Next(milliseconds(20)));
      Collect();
    }
    EXPECT_EQ(answered_.size(), count);
  }
  void ExpectFinished() {
    Host().Drain(job_);
    const std::optional<HostEvent> event = Next(seconds(60));
    ASSERT_TRUE(event);
    EXPECT_TRUE(std::holds_alternative<HostFinished>(*event));
    Collect();
  }
  void Grant(const CpuSet& cores, int open) {
    Place place = Place::Whole(cores, {cores.Count(), cores.Count()});
    place.open_requests = open;
    Host().Grant(job_, place);
    ExpectSettled();
  }
  // Until it is so, or a minute has passed.
  template <typename Condition>
  void ExpectSoon(const Condition& condition) {
    for (int i = 0; i < 3000 && !condition(Host().Pipeline(job_)); ++i) {
      ASSERT_FALSE(Next(milliseconds(20)));
      Collect();
    }
    EXPECT_TRUE(condition(Host().Pipeline(job_)));
  }

  int64_t next_id_ = 0;
  std::set<int64_t> answered_;
  std::set<int64_t> failing_;  // Of requests that are to.
};

TEST_F(PipelineTenantTest, MergesTheItemsOfEachRequest) {
  Run({.stages = 2,
       .items = 4,
       .work = milliseconds(1),
       .wait = milliseconds(1),
       .parallel = 2,
       .merge = milliseconds(2),
       .merges = 2},
      {.open = 3, .open_max = 3});
  Ask(6);
  ExpectAnswered(6);
  const PipelineCounters counters = Host().Pipeline(job_);
  ASSERT_EQ(counters.stages.size(), 3U);
  EXPECT_TRUE(counters.stages[0].waits);
  EXPECT_FALSE(counters.stages[1].waits);
  EXPECT_EQ(counters.stages[1].taken, 6 * 4);
  EXPECT_EQ(counters.stages[2].calls, 6);
  EXPECT_EQ(counters.stages[2].taken, 6 * 4);
  ExpectFinished();
}

TEST_F(PipelineTenantTest, AnswersEveryRequestAndTellsOfItsStages) {
  Run({.stages = 3, .items = 5, .work = milliseconds(1)}, {.open = 3, .open_max = 3});
  Ask(12);
  Ask(1, /*work=*/0);  // Without items.
  ExpectAnswered(13);
  const TenantSample sample = OnlySample();
  ASSERT_EQ(sample.pipeline.stages.size(), 3u);
  EXPECT_EQ(sample.pipeline.open, 0);
  EXPECT_EQ(sample.pipeline.open_requests, 3);
  for (const StageCounters& stage : sample.pipeline.stages) {
    EXPECT_EQ(stage.calls, 60);
    EXPECT_EQ(stage.taken, 60);
    EXPECT_GE(stage.busy, milliseconds(60));
    EXPECT_GE(stage.lasted, stage.busy);
  }
  ExpectFinished();
}

// Whole cores are CPU time anywhere on the machine then, and what goes with them is granted, too.
TEST_F(PipelineTenantTest, OpenRequestsAreGrantedWithAQuota) {
  if (const std::string why_not = WhyNot(Actuator::kQuota); !why_not.empty())
    GTEST_SKIP() << why_not;
  options_.actuator = Actuator::kQuota;
  options_.cores = Topology::ThisMachine().Cpus();
  Run({.stages = 1, .items = 1, .wait = milliseconds(500), .parallel = 8},
      {.link = CreditLink::kEndToEnd, .open = 1, .open_max = 6});
  Grant(cores_, 4);
  ExpectSoon([](const PipelineCounters& pipeline) { return pipeline.open_requests == 4; });
  Ask(6);
  ExpectAnswered(6);
  ExpectFinished();
}

TEST_F(PipelineTenantTest, OpenRequestsAreGranted) {
  // Requests that stay until they are let go on by the clock.
  Run({.stages = 1, .items = 1, .wait = milliseconds(500), .parallel = 8},
      {.link = CreditLink::kEndToEnd, .open = 1, .open_max = 6});
  Grant(cores_, 4);
  Ask(20);
  ExpectSoon([](const PipelineCounters& pipeline) { return pipeline.open == 4; });
  EXPECT_EQ(Host().Pipeline(job_).open_requests, 4);
  Grant(one_, 100);  // No further than the pipeline can go.
  ExpectSoon([](const PipelineCounters& pipeline) { return pipeline.open == 6; });
  ExpectAnswered(20);
  ExpectFinished();
}

TEST_F(PipelineTenantTest, APauseStopsItInTheMiddleAndLosesNothing) {
  Run({.stages = 2, .items = 40, .work = milliseconds(5)}, {.open = 2, .open_max = 2});
  Ask(3);
  ExpectSoon([](const PipelineCounters& pipeline) {
    return !pipeline.stages.empty() && pipeline.stages[0].calls > 3;
  });
  Host().Pause(job_);
  ExpectSettled();
  Collect();
  const std::vector<StageCounters> paused = Host().Pipeline(job_).stages;
  EXPECT_FALSE(Next(milliseconds(300)));
  EXPECT_EQ(Host().Pipeline(job_).stages, paused);
  EXPECT_LT(answered_.size(), 3u);
  Grant(one_, 0);
  ExpectAnswered(3);
  ExpectFinished();
}

// A network in parts between native stages; a broken file is of its request alone.
TEST_F(PipelineTenantTest, ImagesAreClassified) {
  PipelineChoice pipeline{.application = "classify", .open = {.open = 2, .open_max = 2}};
  pipeline.classify = {.model = "lenet5", .parts = 2, .items = 5, .batch = 2};
  try {
    PipelineSpecOf(pipeline);
  } catch (const InputError& error) {
    GTEST_SKIP() << error.what();
  }
  Run(pipeline);
  Ask(6);
  ExpectAnswered(6);
  const TenantSample sample = OnlySample();
  std::vector<int64_t> taken;
  for (const StageCounters& stage : sample.pipeline.stages) taken.push_back(stage.taken);
  // Read, decoded and preprocessed by image; three batches a request from the first part on.
  EXPECT_EQ(taken, (std::vector<int64_t>{30, 30, 30, 30, 18, 18}));
  EXPECT_EQ(sample.pipeline.stages[3].calls, 18);
  ExpectFinished();
}

TEST_F(PipelineTenantTest, ABrokenImageIsOfItsRequestAlone) {
  const TemporaryFolder folder;
  for (const char* name : {"a.jpg", "b.jpg", "c.jpg"})
    WriteText(folder.path() / name, "this is no image");
  PipelineChoice pipeline{.application = "classify", .open = {.open = 2, .open_max = 2}};
  pipeline.classify = {.model = "lenet5", .images = folder.path(), .items = 1};
  try {
    PipelineSpecOf(pipeline);
  } catch (const InputError& error) {
    GTEST_SKIP() << error.what();
  }
  Run(pipeline);
  failing_ = {0, 1, 2};
  Ask(3);
  Ask(1, /*work=*/0);  // Without any image.
  ExpectAnswered(4);
  ExpectFinished();
}

// As `cosched calibrate` runs it.
TEST_F(PipelineTenantTest, AsAJobItsStepsAreRequests) {
  TenantSpec spec;
  spec.model = spec.pipeline.application = "increment";
  spec.pipeline.increment = {.stages = 2, .items = 3, .work = milliseconds(1)};
  spec.pipeline.open = {.open = 2, .open_max = 2};
  spec.mode = Mode::kInfer;
  spec.batch = 1;
  spec.steps = 9;
  Start(spec, Elasticity::kMalleable, {1, 1});
  ExpectSettled();
  const std::optional<HostEvent> event = Next(seconds(60));
  ASSERT_TRUE(event);
  EXPECT_TRUE(std::holds_alternative<HostFinished>(*event));
  const std::vector<StepSample> steps = Host().TakeSteps();
  ASSERT_EQ(steps.size(), 9u);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].step, static_cast<int64_t>(i));
    EXPECT_TRUE(i == 0 || steps[i].finished >= steps[i - 1].finished);
  }
  const std::vector<TenantSample> samples = Host().Sample();
  ASSERT_EQ(samples.size(), 1u);
  ASSERT_EQ(samples[0].pipeline.stages.size(), 2u);
  EXPECT_EQ(samples[0].pipeline.stages[1].taken, 27);
}

}  // namespace
}  // namespace cosched
