#include "experiments/os/large_blocks.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>

namespace cosched {
namespace {

// Whether a block of four MiB is the system's own after the first one was freed.
bool StaysAlone() {
  void* (*volatile allocate)(size_t) = malloc;  // Not to be optimized away.
  free(allocate(4 << 20));
  const size_t before = mallinfo2().hblks;
  void* block = allocate(4 << 20);
  const bool alone = mallinfo2().hblks > before;
  free(block);
  return alone;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOtherAllocator = true;
#else
constexpr bool kOtherAllocator = false;
#endif

// Each in a process of its own: the allocator's settings are the process's.
TEST(LargeBlocksDeathTest, GoBackToTheSystem) {
  if (kOtherAllocator) GTEST_SKIP() << "sanitizers have an allocator of their own";
  EXPECT_EXIT(
      {
        ReturnLargeBlocks();
        _exit(StaysAlone() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(LargeBlocksDeathTest, AreKeptByAnAllocatorThatWasNotTold) {
  if (kOtherAllocator) GTEST_SKIP() << "sanitizers have an allocator of their own";
  EXPECT_EXIT(_exit(StaysAlone() ? 1 : 0), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cosched
