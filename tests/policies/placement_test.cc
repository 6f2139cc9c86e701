#include "policies/placement.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <vector>

#include "engine/base/random.h"

namespace cosched {
namespace {

// Two packages with one NUMA node each, two L3 in a node, two cores in an L3, two threads in a
// core: core 0 = CPUs 0-1, L3 0 = 0-3, node 0 = 0-7.
Topology Smt() { return Topology::Synthetic("pack:2 [numa] l3:2 core:2 pu:2"); }
Topology FourCores() { return Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1"); }

CpuSet Set(const char* text) { return CpuSet::Parse(text).value(); }
std::string PlaceText(const Topology& topology, const char* held, const char* available,
                      int count) {
  return PlaceCores(topology, Set(held), Set(available), count).ToString();
}

TEST(Placement, NothingIsEmpty) {
  EXPECT_EQ(PlaceText(FourCores(), "", "", 0), "");
  EXPECT_EQ(PlaceText(FourCores(), "0-3", "", 0), "");
}

TEST(Placement, PartsOfAMachineAreCoresCloseTogether) {
  const std::vector<CpuSet> halves = DivideCores(Smt(), Set("0-15"), 2);
  EXPECT_EQ(halves, (std::vector<CpuSet>{Set("0-7"), Set("8-15")}));
  const std::vector<CpuSet> quarters = DivideCores(Smt(), Set("2-9"), 4);
  EXPECT_EQ(quarters, (std::vector<CpuSet>{Set("2-3"), Set("8-9"), Set("4-5"), Set("6-7")}));
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

TEST(Placement, NobodyIsPutBesideOthersWhileACoreIsIdle) {
  EXPECT_EQ(PlaceText(Smt(), "", "0-4", 1), "0");
  EXPECT_EQ(PlaceText(Smt(), "", "0-4", 3), "0-2");
  EXPECT_EQ(PlaceText(Smt(), "", "1,3,5-7", 1), "6") << "the only core where nobody is";
  EXPECT_EQ(PlaceText(Smt(), "4", "0,2,7,12-13", 2), "4,12") << "another L3 before another's core";
  EXPECT_EQ(PlaceText(Smt(), "", "0,2,5", 2), "0,2") << "none is idle";
  const Topology four = Topology::Synthetic("pack:1 [numa] core:4 pu:4");
  EXPECT_EQ(PlaceText(four, "", "3,6-7,9-11", 1), "9") << "the fewest of others beside it";
  EXPECT_EQ(PlaceText(four, "", "0-15", 5), "0-4");
}

// One after another, none ends: what each got, and what was left for the next.
TEST(Placement, JobsOfOneCpuHaveACoreEachUntilNoneIsIdle) {
  const Topology topology = Topology::Synthetic("pack:2 [numa] l3:1 core:4 pu:2");
  CpuSet available = topology.Cpus();
  std::map<int, int> jobs_on_core;
  for (int job = 0; job < 16; ++job) {
    const CpuSet cores = PlaceCores(topology, {}, available, 1);
    available -= cores;
    EXPECT_EQ(++jobs_on_core[topology.Locate(cores.First()).core], job < 8 ? 1 : 2) << job;
  }
}

TEST(Placement, AJobGrowsIntoItsOwnCoreFirstAndMovesNothing) {
  const Topology topology = Topology::Synthetic("pack:2 [numa] l3:1 core:4 pu:2");
  const CpuSet others{4, 13};
  CpuSet held;
  for (int count = 1; count <= 14; ++count) {
    const CpuSet before = held;
    held = PlaceCores(topology, held, topology.Cpus() - others - held, count);
    EXPECT_TRUE(held.Contains(before)) << count;
    std::set<int> cores;
    for (const int cpu : held) cores.insert(topology.Locate(cpu).core);
    // Two CPUs a core; on the two cores where others are, when there is no other.
    EXPECT_EQ(static_cast<int>(cores.size()), count <= 12 ? (count + 1) / 2 : 6 + count - 12)
        << held.ToString();
  }
}

TEST(Placement, AJobThatShrinksLeavesTheCoresOfOthersFirst) {
  EXPECT_EQ(PlaceText(Smt(), "0,2,4", "1", 1), "0") << "others are beside 2 and 4";
  EXPECT_EQ(PlaceText(Smt(), "0,2-4", "1", 2), "2-3");
}

// Where only one thread of each core is shared out, the other one is nobody's.
TEST(Placement, WithinOneThreadOfEachCoreItIsAsWithoutSiblings) {
  const Topology smt = Topology::Synthetic("pack:2 [numa] l3:4 core:3 pu:2");
  const Topology plain = Topology::Synthetic("pack:2 [numa] l3:4 core:3 pu:1");
  const Topology cores = smt.Within(smt.OneThreadPerCore());
  for (int count = 0; count <= plain.Cpus().Count(); ++count) {
    const CpuSet expected = PlaceCores(plain, {3, 7}, plain.Cpus(), count);
    CpuSet doubled;
    for (const int cpu : expected) doubled.Add(2 * cpu);
    EXPECT_EQ(PlaceCores(cores, {6, 14}, cores.Cpus(), count), doubled) << count;
  }
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
    const CpuSet cores = PlaceCores(Smt(), {}, CpuSet::Range(0, 15), count);
    EXPECT_EQ(cores.Count(), count);
    if (count % 2 != 0) continue;
    for (int cpu : cores) EXPECT_TRUE(cores.Contains(cpu ^ 1)) << cores.ToString();
  }
}

// Cores without siblings, one after another as the header words it: what is compared, and nothing
// of how PlaceCores finds it.
CpuSet PlaceOneByOne(const Topology& topology, CpuSet result, CpuSet candidates, int remaining) {
  for (; remaining > 0; --remaining) {
    int best = -1;
    std::array<int, 5> best_rank{};
    for (const int cpu : candidates) {
      const Topology::Location at = topology.Locate(cpu);
      int l3_left = 0, numa_left = 0, l3_taken = 0, numa_taken = 0;
      for (const int other : candidates) {
        l3_left += topology.Locate(other).l3 == at.l3;
        numa_left += topology.Locate(other).numa == at.numa;
      }
      for (const int other : result) {
        l3_taken += topology.Locate(other).l3 == at.l3;
        numa_taken += topology.Locate(other).numa == at.numa;
      }
      const bool fits = l3_left >= remaining;
      const std::array<int, 5> rank = {l3_taken, numa_taken, fits, numa_left >= remaining,
                                       fits ? -l3_left : l3_left};
      if (best >= 0 && rank <= best_rank) continue;
      best = cpu;
      best_rank = rank;
    }
    result.Add(best);
    candidates.Remove(best);
  }
  return result;
}

TEST(Placement, WithoutSiblingsItIsTheSameByDomain) {
  Random random(11);
  for (const char* text : {"pack:2 [numa] l3:4 core:3 pu:1", "pack:3 [numa] l3:1 core:5 pu:1",
                           "pack:2 [numa] l3:2 core:40 pu:1"}) {
    const Topology topology = Topology::Synthetic(text);
    const std::vector<int> cpus = topology.Cpus().ToVector();
    for (int round = 0; round < 300; ++round) {
      CpuSet held, available;
      for (const int cpu : cpus) {
        const uint64_t draw = random.Below(4);
        if (draw == 0) held.Add(cpu);
        if (draw <= 1) available.Add(cpu);
      }
      const int count =
          static_cast<int>(random.Below(static_cast<uint64_t>((held | available).Count()) + 1));
      const bool grows = count > held.Count();
      const CpuSet start = grows ? held : CpuSet();
      const CpuSet expected = count == held.Count()
                                  ? held
                                  : PlaceOneByOne(topology, start, grows ? available - held : held,
                                                  count - start.Count());
      ASSERT_EQ(PlaceCores(topology, held, available, count).ToString(), expected.ToString())
          << text << ": " << count << " of " << held.ToString() << " and " << available.ToString();
    }
  }
}

TEST(PlacementDeathTest, TooFewCoresAbort) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(PlaceCores(FourCores(), {}, {0, 1}, 3), "placing 3 cores on 0-1");
}

}  // namespace
}  // namespace cosched
