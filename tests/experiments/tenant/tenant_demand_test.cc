#include <gtest/gtest.h>

#include "experiments/tenant/demand.h"

namespace cosched {
namespace {

CpuSet CoresOf(const TenantDemand& demand) { return *demand.Request("").cores; }

TEST(TenantDemandTest, WantsTheLimitUntilSomebodyAsks) {
  const TenantDemand demand({0, 1, 2}, {1, 3}, {2, 4}, "the limit");
  const ResizeRequest request = demand.Request("grant");
  EXPECT_EQ(*request.cores, CpuSet({0, 1, 2}));
  EXPECT_EQ(*request.inter, 1);
  EXPECT_EQ(*request.intra, 3);
  EXPECT_FALSE(*request.paused);
  EXPECT_EQ(request.cause, "grant");
}

TEST(TenantDemandTest, ReturnsToWhatWasAskedForWhenTheCpusetGrowsAgain) {
  TenantDemand demand({0, 1, 2, 3}, {1, 4}, {2, 4}, "the limit");
  EXPECT_EQ(demand.Set(CpuSet{1, 2}, std::nullopt, 2), "");
  demand.Allow({0, 1});
  EXPECT_EQ(CoresOf(demand), CpuSet({1}));
  demand.Allow({0, 3});  // Nothing of the request is left: as many as were asked for.
  EXPECT_EQ(CoresOf(demand), CpuSet({0, 3}));
  demand.Allow({0, 1, 2, 3});
  EXPECT_EQ(CoresOf(demand), CpuSet({1, 2}));
  EXPECT_EQ(*demand.Request("").intra, 2);
}

TEST(TenantDemandTest, CpusetOutsideTheLimitIsWhereItMustBe) {
  TenantDemand demand({0}, {1, 1}, {1, 1}, "the limit");
  demand.Allow({2, 3});
  EXPECT_EQ(CoresOf(demand), CpuSet({2}));
}

TEST(TenantDemandTest, GrantReplacesRequestsButNotAPause) {
  TenantDemand demand({0, 1}, {1, 2}, {2, 2}, "the limit");
  EXPECT_EQ(demand.Set(CpuSet{1}, 2, 1), "");
  demand.SetPaused(true);
  demand.Grant({0, 1, 2}, {1, 2});
  demand.Allow({0, 1, 2});
  EXPECT_EQ(CoresOf(demand), CpuSet({0, 1, 2}));
  EXPECT_EQ(*demand.Request("").inter, 1);
  EXPECT_TRUE(*demand.Request("").paused);
}

TEST(TenantDemandTest, TimeForFewerThreadsTakesAPartOfTheCores) {
  TenantDemand demand({0, 1, 4, 5}, {1, 4}, {1, 4}, "the limit");
  demand.Allow({0, 1, 4, 5});
  demand.AllowTime(2, /*from=*/7);
  EXPECT_EQ(CoresOf(demand), CpuSet({0, 5})) << "the fourth, and on";
  demand.AllowTime(3, 7);
  EXPECT_EQ(CoresOf(demand), CpuSet({0, 1, 5})) << "holds those of two";
  demand.AllowTime(2, 2);
  EXPECT_EQ(CoresOf(demand), CpuSet({4, 5}));
  EXPECT_EQ(demand.SetCount(3), "") << "remembered for when there is time";
  EXPECT_EQ(CoresOf(demand).Count(), 2);
  demand.AllowTime(9, 2);
  EXPECT_EQ(CoresOf(demand), CpuSet({0, 1, 4}));
  demand.AllowTime(std::nullopt, 2);
  EXPECT_EQ(CoresOf(demand), CpuSet({0, 1, 4}));
  demand.Grant({1}, {1, 1});
  demand.AllowTime(1, 2);
  EXPECT_EQ(CoresOf(demand), CpuSet({1}));
  EXPECT_EQ(*demand.Request("").intra, 1);
}

TEST(TenantDemandTest, CountTakesTheFirstOfThoseItMayUse) {
  TenantDemand demand({0, 1, 2, 3}, {1, 4}, {1, 4}, "the limit");
  EXPECT_EQ(demand.SetCount(2), "");
  demand.Allow({1, 2, 3});
  EXPECT_EQ(CoresOf(demand), CpuSet({1, 2}));
  EXPECT_EQ(demand.SetCount(0), "");
  EXPECT_TRUE(CoresOf(demand).Empty());
}

TEST(TenantDemandTest, RefusalsSayWhatIsAllowedAndChangeNothing) {
  TenantDemand demand({0, 1, 2}, {1, 3}, {2, 4}, "its host's grant");
  demand.Allow({0, 1});
  const auto set = [&demand](std::optional<CpuSet> cores, std::optional<int> inter,
                             std::optional<int> intra) { return demand.Set(cores, inter, intra); };
  EXPECT_EQ(set(CpuSet{3}, {}, {}), "cores 3: outside its host's grant, 0-2");
  EXPECT_EQ(set(CpuSet{1, 2}, {}, {}), "cores 1-2: its cpuset or affinity mask allows 0-1 only");
  EXPECT_EQ(set(CpuSet{}, {}, {}), "no cores: that is pause");
  EXPECT_EQ(set({}, 3, {}), "inter 3: allowed is 0 (pause) to its capacity, 2");
  EXPECT_EQ(set(CpuSet{0}, 1, 5), "intra 5: allowed is 0 (pause) to its capacity, 4");
  EXPECT_EQ(demand.SetCount(4), "4 cores: allowed is 0 (pause) to 3, those of its host's grant");
  EXPECT_EQ(demand.SetCount(-1), "-1 cores: allowed is 0 (pause) to 3, those of its host's grant");
  EXPECT_EQ(CoresOf(demand), CpuSet({0, 1}));
  demand.Grant({}, {1, 1});
  EXPECT_EQ(set(CpuSet{0}, {}, {}), "cores 0: its host has paused it");
}

}  // namespace
}  // namespace cosched
