#include "policies/core_counter.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/base/random.h"

namespace cosched {
namespace {

TEST(CoreCounter, KnowsWhatIsHeldAndWhatIsShared) {
  CoreCounter counter;
  counter.Add({0, 1, 70});
  counter.Add({1, 70});
  counter.Add({1});
  EXPECT_EQ(counter.Held(), CpuSet({0, 1, 70}));
  EXPECT_EQ(counter.Shared(), CpuSet({1, 70}));
  EXPECT_EQ(counter.Count(1), 3);
  counter.Remove({1, 70});
  EXPECT_EQ(counter.Shared(), CpuSet({1}));
  counter.Replace({0, 1}, {1, 2});
  EXPECT_EQ(counter.Held(), CpuSet({1, 2, 70}));
  EXPECT_EQ(counter.Count(0), 0);
  EXPECT_EQ(counter.Count(1), 2);
  EXPECT_EQ(counter.Count(70), 1);
}

TEST(CoreCounter, AgreesWithCountingOneByOne) {
  constexpr int kHolders = 6, kCpus = 130;
  CoreCounter counter;
  std::array<CpuSet, kHolders> holders;
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    CpuSet next;
    const uint64_t wanted = random.Below(12);
    for (uint64_t i = 0; i < wanted; ++i) next.Add(static_cast<int>(random.Below(kCpus)));
    CpuSet& holder = holders[random.Below(kHolders)];
    counter.Replace(holder, next);
    holder = next;
    CpuSet held, shared;
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      int count = 0;
      for (const CpuSet& cores : holders) count += cores.Contains(cpu);
      ASSERT_EQ(counter.Count(cpu), count);
      if (count > 0) held.Add(cpu);
      if (count > 1) shared.Add(cpu);
    }
    ASSERT_EQ(counter.Held(), held);
    ASSERT_EQ(counter.Shared(), shared);
  }
}

TEST(CoreCounterDeathTest, NobodyGivesBackWhatNobodyHolds) {
  CoreCounter counter;
  counter.Add({1});
  EXPECT_DEATH(counter.Remove({1, 2}), "nobody holds cores 2");
}

}  // namespace
}  // namespace cosched
