#include "workloads/genomics/sorted_runs.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/base/error.h"
#include "tests/workloads/genomics/record_factory.h"
#include "tests/workloads/temporary_folder.h"

namespace cosched {
namespace {

class SortedRunsTest : public testing::Test {
 protected:
  // Runs of so many records each, added in an order drawn at random.
  std::vector<RecordRun> RandomRuns(const std::vector<size_t>& sizes) {
    std::vector<RecordRun> runs;
    uint64_t first = 0;
    for (const size_t size : sizes) {
      runs.push_back(RandomRun(size, first, &random_));
      first += size;
    }
    for (size_t i = runs.size(); i > 1; --i) std::swap(runs[i - 1], runs[random_.Below(i)]);
    return runs;
  }
  std::vector<std::string> Added(const std::vector<RecordRun>& runs, SortedRuns* sorted) {
    for (const RecordRun& run : runs) sorted->Add(run);
    return DrainRecords(sorted->Merge());
  }

  TemporaryFolder folder_;
  Random random_{7};
};

TEST_F(SortedRunsTest, NothingIsSortedToNothing) {
  SortedRuns sorted(64, folder_.Path());
  EXPECT_TRUE(DrainRecords(sorted.Merge()).empty());
  SortedRuns spilling(0, folder_.Path());
  spilling.Add({});
  EXPECT_EQ(spilling.SpilledBytes(), 0);
  EXPECT_TRUE(DrainRecords(spilling.Merge()).empty());
  EXPECT_EQ(spilling.Records(), 0);
}

TEST_F(SortedRunsTest, MergesInMemory) {
  const std::vector<RecordRun> runs = RandomRuns({1, 5'000, 0, 40, 10'000, 4'096, 4'095, 7});
  SortedRuns sorted(64, folder_.Path());
  EXPECT_EQ(Added(runs, &sorted), SortedRecords(runs));
  EXPECT_EQ(sorted.Records(), 23'239);
  EXPECT_EQ(sorted.SpilledBytes(), 0);
  EXPECT_LT(sorted.Memory(), 100);
}

TEST_F(SortedRunsTest, SpilledRunsComeBackInOrder) {
  const std::vector<RecordRun> runs = RandomRuns(std::vector<size_t>(300, 83));
  SortedRuns sorted(0, folder_.Path());
  EXPECT_EQ(Added(runs, &sorted), SortedRecords(runs));
  EXPECT_GT(sorted.SpilledBytes(), 0);
}

TEST_F(SortedRunsTest, FilesAreMergedLevelByLevel) {
  // 64 x 64 files of one level become one; their records are written three times, not 64 times.
  const std::vector<RecordRun> runs = RandomRuns(std::vector<size_t>(4'100, 1));
  int64_t bytes = 0;
  for (const RecordRun& run : runs) bytes += run.bytes.size() + sizeof(SortKey);
  SortedRuns sorted(0, folder_.Path());
  EXPECT_EQ(Added(runs, &sorted), SortedRecords(runs));
  EXPECT_GT(sorted.SpilledBytes(), 2.9 * bytes);
  EXPECT_LE(sorted.SpilledBytes(), 3 * bytes);
}

TEST_F(SortedRunsTest, MemoryStaysBelowItsBound) {
  constexpr int64_t kMebibyte = 1 << 20;
  SortedRuns sorted(2, folder_.Path());
  std::vector<RecordRun> runs;
  for (int i = 0; i < 40; ++i) {
    runs.push_back(RandomRun(5'000, 5'000 * i, &random_));
    sorted.Add(runs.back());
    ASSERT_LE(sorted.Memory(), 2 * kMebibyte);
  }
  EXPECT_GT(sorted.SpilledBytes(), 8 * kMebibyte);
  EXPECT_LT(sorted.SpilledBytes(), 12 * kMebibyte);  // Each record once, with its key.
  EXPECT_EQ(DrainRecords(sorted.Merge()), SortedRecords(runs));
}

TEST_F(SortedRunsTest, RecordsMayBeLargerThanAFilesBuffer) {
  RecordRun run;
  for (uint64_t i = 0; i < 5; ++i) AddRecord({i, i}, std::string(100'000 * i, 'r'), &run);
  SortedRuns sorted(0, folder_.Path());
  EXPECT_EQ(Added({run}, &sorted), SortedRecords({run}));
}

TEST_F(SortedRunsTest, SpillFilesHaveNoNames) {
  SortedRuns sorted(0, folder_.Path());
  sorted.Add(RandomRun(100, 0, &random_));
  EXPECT_GT(sorted.SpilledBytes(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.Path()));
}

TEST_F(SortedRunsTest, AMissingFolderIsNamed) {
  SortedRuns sorted(0, folder_.PathOf("none"));
  try {
    sorted.Add(RandomRun(100, 0, &random_));
    ADD_FAILURE() << "no error";
  } catch (const OutputError& error) {
    EXPECT_NE(std::string(error.what()).find(folder_.PathOf("none")), std::string::npos);
  }
}

// Each draw: runs of random sizes, a random bound, a random order; the oracle sorts all at once.
TEST_F(SortedRunsTest, RandomRunsAreSortedAsAWhole) {
  for (int i = 0; i < 40; ++i) {
    std::vector<size_t> sizes(random_.Below(20));
    for (size_t& size : sizes) size = random_.Below(random_.Below(2) == 0 ? 20 : 6'000);
    const std::vector<RecordRun> runs = RandomRuns(sizes);
    SortedRuns sorted(static_cast<int64_t>(random_.Below(3)), folder_.Path());
    ASSERT_EQ(Added(runs, &sorted), SortedRecords(runs)) << i;
  }
}

}  // namespace
}  // namespace cosched
