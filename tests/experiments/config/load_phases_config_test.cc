// Load in steps, [[trace.requests]] phases: what they draw, and which shapes are refused.

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/plan.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class LoadPhasesConfigTest : public testing::Test {
 protected:
  ExperimentConfig Load(const std::string& stream) const {
    WriteText(folder_.path() / "e.toml", R"(name = "e"
policies = ["strict"]
trials = 2
[[workload]]
name = "net"
model = "lenet5"
mode = "serve"
[[trace.requests]]
)" + stream);
    return LoadConfig(folder_.path() / "e.toml", {}, Topology::Synthetic("core:2 pu:1"));
  }
  InputErrorDetails Refused(const std::string& stream) const {
    try {
      Load(stream);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << stream << " is taken";
    return {};
  }

  const TemporaryFolder folder_;
};

TEST_F(LoadPhasesConfigTest, SayWhenAndHowMuch) {
  const Plan plan = MakePlan(Load(R"(
phases = [ { for_s = 2, rate = 1 }, { for_s = 1, rate = 0 }, { for_s = 1, rate = 2, work = 3 } ]
gap = { distribution = "fixed" }
work = 5
start_s = 10
)"));
  ASSERT_EQ(plan.requests.size(), 2U);
  std::vector<double> times, work;
  for (const RequestArrival& request : plan.requests[0]) {
    EXPECT_EQ(request.service, "net");
    times.push_back(ToSeconds(request.time));
    work.push_back(request.work);
  }
  EXPECT_EQ(times, (std::vector<double>{11, 12, 13.5, 14}));
  EXPECT_EQ(work, (std::vector<double>{5, 5, 15, 15}));
}

TEST_F(LoadPhasesConfigTest, EachTrialHasATraceOfItsOwn) {
  const std::string stream = "phases = [{ for_s = 10, rate = 20 }]\n";
  const Plan plan = MakePlan(Load(stream)), again = MakePlan(Load(stream));
  ASSERT_FALSE(plan.requests[0].empty());
  EXPECT_NE(plan.requests[0].front().time, plan.requests[1].front().time);
  EXPECT_EQ(plan.requests[0].front().time, again.requests[0].front().time);
  EXPECT_EQ(plan.requests[1].size(), again.requests[1].size());
}

TEST_F(LoadPhasesConfigTest, WhatCantBeIsRefusedWithItsKey) {
  const std::string phases = "phases = [{ for_s = 1, rate = 1 }]\n";
  EXPECT_EQ(Refused("").key, "trace.requests.0.count") << "neither count nor phases";
  EXPECT_EQ(Refused(phases + "count = 3").key, "trace.requests.0.count");
  const InputErrorDetails mean = Refused(phases + "gap = { mean_s = 0.5 }");
  EXPECT_EQ(mean.key, "trace.requests.0.gap.mean_s");
  EXPECT_EQ(mean.problem, "is 0.5, beside phases");
  EXPECT_EQ(Refused("phases = []").key, "trace.requests.0.phases");
  EXPECT_EQ(Refused("phases = 3").key, "trace.requests.0.phases");
  EXPECT_EQ(Refused("phases = [{ for_s = 9, rate = 0 }]").problem, "make 0 requests in the mean");
  EXPECT_EQ(Refused("phases = [{ for_s = 80000, rate = 1000000 }]").key, "trace.requests.0.phases");
  EXPECT_EQ(Refused("phases = [{ rate = 1 }]").key, "trace.requests.0.phases.0.for_s");
  EXPECT_EQ(Refused("phases = [{ for_s = 1 }]").key, "trace.requests.0.phases.0.rate");
  EXPECT_EQ(Refused("phases = [{ for_s = 0, rate = 1 }]").key, "trace.requests.0.phases.0.for_s");
  EXPECT_EQ(Refused("phases = [{ for_s = 1, rate = -1 }]").key, "trace.requests.0.phases.0.rate");
  EXPECT_EQ(Refused("phases = [{ for_s = 1, rate = 1, burst = 1 }]").key,
            "trace.requests.0.phases.0.burst");
}

}  // namespace
}  // namespace cosched
