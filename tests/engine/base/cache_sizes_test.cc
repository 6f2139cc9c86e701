#include "engine/base/cache_sizes.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

TEST(CacheSizesTest, TakesWhatTheMachineTellsWithinReason) {
  EXPECT_EQ(SecondLevelCacheOf(2 << 20).bytes, 2 << 20);
  EXPECT_TRUE(SecondLevelCacheOf(2 << 20).known);
  EXPECT_EQ(SecondLevelCacheOf(1).bytes, 256 << 10);
  EXPECT_EQ(SecondLevelCacheOf(int64_t{1} << 40).bytes, 4 << 20);
}

TEST(CacheSizesTest, AssumesOneMebibyteWhereTheMachineIsSilent) {
  for (int64_t silent : {0, -1}) {
    EXPECT_EQ(SecondLevelCacheOf(silent).bytes, 1 << 20);
    EXPECT_FALSE(SecondLevelCacheOf(silent).known);
  }
}

}  // namespace
}  // namespace cosched
