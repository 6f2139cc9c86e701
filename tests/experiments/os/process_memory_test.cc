#include "experiments/os/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

constexpr int64_t kPage = 4096;

TEST(ProcessMemoryTest, OwnPagesAreCountedByNode) {
  const TemporaryFolder folder;
  WriteText(
      folder.path() / "numa_maps",
      "55d0c0a00000 default file=/usr/bin/x mapped=70 mapmax=3 N0=40 N1=30 kernelpagesize_kB=4\n"
      "55d0c0b00000 default file=/usr/bin/x anon=2 dirty=2 N1=2 kernelpagesize_kB=4\n"
      "55d0c1000000 default heap anon=5 dirty=5 N0=4 N1=1 kernelpagesize_kB=4\n"
      "7f0000000000 bind:1 anon=3 dirty=3 active=0 N1=3 kernelpagesize_kB=2048\n"
      "7ffc00000000 default stack anon=1 N12=1 kernelpagesize_kB=4\n");
  const auto memory = ReadNumaMaps(folder.path() / "numa_maps");
  ASSERT_TRUE(memory);
  EXPECT_EQ(*memory, (MemoryByNode{{0, 4 * kPage}, {1, 3 * kPage + 3 * 512 * kPage}, {12, kPage}}));
  EXPECT_EQ(BytesOn(*memory, {{0, 12, 13}}), 5 * kPage);
}

TEST(ProcessMemoryTest, WhatIsNotThereHasNoMemory) {
  EXPECT_FALSE(ReadNumaMaps("/proc/none/numa_maps"));
  const TemporaryFolder folder;
  WriteText(folder.path() / "numa_maps", "");
  EXPECT_FALSE(ReadNumaMaps(folder.path() / "numa_maps"));
}

int64_t BytesOf(const MemoryByNode& memory) {
  int64_t sum = 0;
  for (const auto& [node, bytes] : memory) sum += bytes;
  return sum;
}

TEST(ProcessMemoryTest, WhatThisProcessTouchesIsCounted) {
  constexpr size_t kBytes = 8 << 20;
  const auto before = MemoryOf(getpid());
  if (!before) GTEST_SKIP() << "this kernel knows no nodes";
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kBytes);
  const auto after = MemoryOf(getpid());
  munmap(memory, kBytes);
  ASSERT_TRUE(after);
  EXPECT_GE(BytesOf(*after) - BytesOf(*before), static_cast<int64_t>(kBytes));
}

TEST(ProcessMemoryTest, PagesCannotGoToANodeThatIsNotThere) {
  const auto memory = MemoryOf(getpid());
  if (!memory) GTEST_SKIP() << "this kernel knows no nodes";
  const NumaNodes here{{memory->begin()->first}};
  EXPECT_EQ(MovePages(getpid(), here, here), 0);
  EXPECT_NE(MovePages(getpid(), here, {{3000}}), 0);
  // Whoever has left the right to move others' keeps that to move its own.
  std::thread([&] {
    LeaveOthersMemory();
    EXPECT_EQ(MovePages(getpid(), here, here), 0);
  }).join();
}

TEST(ProcessMemoryTest, ThereIsNoMemoryOnANodeThatIsNotThere) {
  std::thread([] { EXPECT_NE(MemoryOn({{3000}}).error(), 0); }).join();
}

}  // namespace
}  // namespace cosched
