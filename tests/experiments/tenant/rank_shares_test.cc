// How a grant is divided among a tenant's ranks.

#include "experiments/tenant/rank_shares.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

TEST(RankSharesTest, PartsAreDisjointAndTheFirstAreTheLargerOnes) {
  const std::vector<RankPlace> places = ShareAmongRanks(*CpuSet::Parse("1-3,6,9"), {1, 5}, 2);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].cores.ToString(), "1-3");
  EXPECT_EQ(places[1].cores.ToString(), "6,9");
  EXPECT_EQ(places[0].home, places[0].cores);
  EXPECT_EQ(places[0].split, (Split{1, 3}));
  EXPECT_EQ(places[1].split, (Split{1, 2}));
  EXPECT_FALSE(places[0].gives_back || places[1].gives_back);
}

TEST(RankSharesTest, WhoHasNoCorePausesBesideTheOthersAndGivesItsCallsBack) {
  const std::vector<RankPlace> places = ShareAmongRanks(CpuSet{4}, {1, 1}, 3);
  EXPECT_EQ(places[0].cores, CpuSet{4});
  for (const size_t rank : {1, 2}) {
    EXPECT_TRUE(places[rank].cores.Empty());
    EXPECT_EQ(places[rank].home, CpuSet{4});
    EXPECT_TRUE(places[rank].gives_back);
  }
}

// They go on where they were.
TEST(RankSharesTest, APauseOfAllLeavesCallsWhereTheyAre) {
  for (const RankPlace& place : ShareAmongRanks(CpuSet(), {1, 1}, 3)) {
    EXPECT_TRUE(place.cores.Empty() && place.home.Empty());
    EXPECT_FALSE(place.gives_back);
  }
}

TEST(RankSharesTest, EachRankMakesItsPartOfTheCalls) {
  for (int cores = 1; cores <= 9; ++cores) {
    for (int inter = 1; inter <= cores; ++inter) {
      for (int ranks = 1; ranks <= 4; ++ranks) {
        int calls = 0, held = 0;
        CpuSet all;
        for (const RankPlace& place :
             ShareAmongRanks(CpuSet::Range(0, cores - 1), {inter, cores}, ranks)) {
          if (place.cores.Empty()) continue;
          calls += place.split.inter;
          held += place.cores.Count();
          for (const int cpu : place.cores) all.Add(cpu);
          EXPECT_LE(place.split.inter, place.cores.Count());
          EXPECT_LE(place.split.intra, place.cores.Count());
        }
        EXPECT_EQ(held, cores);
        EXPECT_EQ(all.Count(), cores);
        EXPECT_GE(calls, inter);
        EXPECT_LT(calls, inter + ranks);
      }
    }
  }
}

}  // namespace
}  // namespace cosched
