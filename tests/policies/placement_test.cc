#include "policies/placement.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

// Two packages with one NUMA node each, two L3 in a node, two cores in an L3, two threads in a
// core: core 0 = CPUs 0-1, L3 0 = 0-3, node 0 = 0-7.
Topology Smt() { return Topology::Synthetic("pack:2 [numa] l3:2 core:2 pu:2"); }
Topology FourCores() { return Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1"); }

CpuSet Set(const char* text) { return CpuSet::Parse(text).value(); }
std::string PlaceText(const Topology& topology, const char* held, const char* available,
                      int count) {
  return Place(topology, Set(held), Set(available), count).ToString();
}

TEST(Placement, NothingIsEmpty) {
  EXPECT_EQ(PlaceText(FourCores(), "", "", 0), "");
  EXPECT_EQ(PlaceText(FourCores(), "0-3", "", 0), "");
}

TEST(Placement, LowestCoresWhenAllAreEqual) {
  EXPECT_EQ(PlaceText(FourCores(), "", "0-3", 2), "0-1");
}

TEST(Placement, JobThatGrowsKeepsWhatItHas) {
  EXPECT_EQ(PlaceText(FourCores(), "3", "0-2", 2), "0,3");
  EXPECT_EQ(PlaceText(Smt(), "0,5,10", "1-4", 4), "0,4-5,10");
}

TEST(Placement, JobThatShrinksStaysWithinWhatItHas) {
  EXPECT_EQ(PlaceText(FourCores(), "1-3", "0", 2), "1-2");
}

TEST(Placement, SameCountMovesNothing) { EXPECT_EQ(PlaceText(Smt(), "3,9", "0-15", 2), "3,9"); }

TEST(Placement, HeldCoresThatAreAvailableTooCountOnce) {
  EXPECT_EQ(PlaceText(FourCores(), "2", "0-3", 2), "0,2");
}

TEST(Placement, WholeCoresBeforePieces) { EXPECT_EQ(PlaceText(Smt(), "", "0,2,4-5", 2), "4-5"); }

TEST(Placement, SiblingOfAHeldCpuComesFirst) {
  EXPECT_EQ(PlaceText(Smt(), "6", "0-5,7", 2), "6-7");
}

TEST(Placement, OddOneOutDoesNotBreakAWholeCore) {
  EXPECT_EQ(PlaceText(Smt(), "", "0-4", 1), "4");
  EXPECT_EQ(PlaceText(Smt(), "", "0-4", 3), "0-1,4");
}

TEST(Placement, ShrinkKeepsWholeCores) { EXPECT_EQ(PlaceText(Smt(), "0,2,4-5", "", 2), "4-5"); }

TEST(Placement, CoresOfTheSameL3AsHeldOnes) {
  EXPECT_EQ(PlaceText(Smt(), "12-13", "0-11,14-15", 4), "12-15");
}

TEST(Placement, CoresOfTheSameNodeWhenTheL3IsFull) {
  EXPECT_EQ(PlaceText(Smt(), "8-11", "0-1,12-15", 6), "8-13");
}

TEST(Placement, OneL3ThatHoldsAllOfIt) { EXPECT_EQ(PlaceText(Smt(), "", "0-1,4-7", 4), "4-7"); }

TEST(Placement, TightestL3LeavesTheLargeOneToOthers) {
  EXPECT_EQ(PlaceText(Smt(), "", "0-3,4-5", 2), "4-5");
}

TEST(Placement, OneNodeThatHoldsAllOfIt) {
  EXPECT_EQ(PlaceText(Smt(), "", "0-3,8-9,12-15", 6), "8-9,12-15");
}

TEST(Placement, EveryCountOfAFreshMachineIsExact) {
  for (int count = 0; count <= 16; ++count) {
    const CpuSet cores = Place(Smt(), {}, CpuSet::Range(0, 15), count);
    EXPECT_EQ(cores.Count(), count);
    if (count % 2 != 0) continue;
    for (int cpu : cores) EXPECT_TRUE(cores.Contains(cpu ^ 1)) << cores.ToString();
  }
}

TEST(PlacementDeathTest, TooFewCoresAbort) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(Place(FourCores(), {}, {0, 1}, 3), "placing 3 cores on 0-1");
}

}  // namespace
}  // namespace cosched
