// [trace] malleable_share: which jobs of a trace are malleable, and which keep what they asked for.

#include <gtest/gtest.h>

#include <set>

#include "engine/base/error.h"
#include "experiments/config/plan.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class MalleableShareTest : public testing::Test {
 protected:
  ExperimentConfig Config(const std::vector<std::string>& overrides) {
    WriteText(folder_.path() / "x.toml", R"(name = "x"
trials = 2
policies = ["strict"]
[trace]
jobs = 500
[[workload]]
name = "net"
model = "lenet5"
)");
    return LoadConfig(folder_.path() / "x.toml", overrides, topology_);
  }

  // Indices of the jobs that are as elastic as their cell.
  static std::set<int64_t> Elastic(const ExperimentConfig& config, int trial = 1,
                                   Elasticity cell = Elasticity::kMalleable) {
    std::set<int64_t> elastic;
    const Plan plan = MakePlan(config);
    CellJobs jobs(config, cell, trial);
    int64_t index = 0;
    for (const JobArrival& arrival : plan.traces[static_cast<size_t>(trial) - 1]) {
      const Elasticity one = jobs.JobOf(arrival, index).elasticity;
      EXPECT_TRUE(one == cell || one == Elasticity::kRigid);
      if (one == cell) elastic.insert(index);
      ++index;
    }
    return elastic;
  }

  InputErrorDetails Refused(const std::vector<std::string>& overrides) {
    try {
      Config(overrides);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "not refused";
    return {};
  }

  const TemporaryFolder folder_;
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
};

TEST_F(MalleableShareTest, ALargerShareHasAllThatASmallerOneHas) {
  std::set<int64_t> smaller;
  for (const char* share : {"0", "0.2", "0.4", "0.6", "0.8", "1"}) {
    const ExperimentConfig config = Config({std::string("trace.malleable_share=") + share});
    const std::set<int64_t> elastic = Elastic(config);
    EXPECT_TRUE(std::includes(elastic.begin(), elastic.end(), smaller.begin(), smaller.end()))
        << share;
    EXPECT_NEAR(static_cast<double>(elastic.size()) / 500, std::stod(share), 0.06) << share;
    smaller = elastic;
  }
  EXPECT_EQ(smaller.size(), 500u);
}

TEST_F(MalleableShareTest, ArrivalsStayAndTrialsDrawTheirOwn) {
  const ExperimentConfig whole = Config({}), half = Config({"trace.malleable_share=0.5"});
  const JobTrace all = MakePlan(whole).traces[0], mixed = MakePlan(half).traces[0];
  ASSERT_EQ(all.size(), mixed.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all.Time(i), mixed.Time(i));
  EXPECT_EQ(Elastic(half), Elastic(Config({"trace.malleable_share=0.5"})));
  EXPECT_NE(Elastic(half, 1), Elastic(half, 2));
  EXPECT_NE(Elastic(half), Elastic(Config({"trace.malleable_share=0.5", "seed=2"})));
}

TEST_F(MalleableShareTest, TheCellSaysHowElasticTheyAre) {
  const ExperimentConfig half =
      Config({"trace.malleable_share=0.5", "elasticity=['moldable', 'malleable']"});
  EXPECT_EQ(Elastic(half, 1, Elasticity::kMoldable), Elastic(half, 1, Elasticity::kMalleable));
}

TEST_F(MalleableShareTest, JobsOfAFileAreDrawnInEachTrial) {
  std::string rows = "arrival_s,workload\n";
  for (int i = 0; i < 100; ++i) rows += std::to_string(i) + ",net\n";
  WriteText(folder_.path() / "t.csv", rows);
  WriteText(folder_.path() / "y.toml", R"(name = "y"
trials = 2
policies = ["strict"]
trace = { file = "t.csv", malleable_share = 0.5 }
[[workload]]
name = "net"
model = "lenet5"
)");
  const ExperimentConfig config = LoadConfig(folder_.path() / "y.toml", {}, topology_);
  EXPECT_NEAR(static_cast<double>(Elastic(config).size()), 50, 20);
  EXPECT_NE(Elastic(config, 1), Elastic(config, 2));
}

TEST_F(MalleableShareTest, WhereItCanMakeNoDifferenceItIsRefused) {
  const std::string half = "trace.malleable_share=0.5";
  EXPECT_EQ(Refused({"trace.malleable_share=1.5"}).key, "trace.malleable_share");
  const InputErrorDetails rigid = Refused({half, "elasticity=['rigid']"});
  EXPECT_EQ(rigid.key, "trace.malleable_share");
  EXPECT_NE(rigid.allowed.find("malleable"), std::string::npos);
  const InputErrorDetails services =
      Refused({half, "workload.net.mode='serve'", "trace.requests=[{ count = 3 }]"});
  EXPECT_EQ(services.key, "trace.malleable_share");
  EXPECT_NE(services.problem.find("every workload is a service"), std::string::npos);
}

}  // namespace
}  // namespace cosched
