#include "workloads/batch_queue.h"

#include <gtest/gtest.h>

#include "workloads/batch_sizes.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

class BatchQueueTest : public ::testing::Test {
 protected:
  static BatchQueue::TimePoint At(int64_t ms) { return BatchQueue::TimePoint(milliseconds(ms)); }
  void Add(int64_t ms) { queue_.Add({.number = next_++, .received = At(ms)}); }
  std::vector<uint64_t> Take() {
    std::vector<uint64_t> numbers;
    for (const ServiceQuery& query : queue_.Take()) numbers.push_back(query.number);
    return numbers;
  }

  BatchQueue queue_{/*max_batch=*/3, milliseconds(10)};
  uint64_t next_ = 0;
};

TEST_F(BatchQueueTest, FewWaitForTheDelayOfTheOldest) {
  EXPECT_FALSE(queue_.NextDue());
  EXPECT_FALSE(queue_.Due(At(1000)));
  Add(100);
  Add(105);
  EXPECT_EQ(queue_.NextDue(), At(110));
  EXPECT_FALSE(queue_.Due(At(109)));
  EXPECT_TRUE(queue_.Due(At(110)));
  EXPECT_EQ(Take(), (std::vector<uint64_t>{0, 1}));
  EXPECT_FALSE(queue_.NextDue());
}

TEST_F(BatchQueueTest, AFullBatchWaitsForNothing) {
  for (int i = 0; i < 5; ++i) Add(100 + i);
  EXPECT_TRUE(queue_.Due(At(104)));
  EXPECT_EQ(Take(), (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_FALSE(queue_.Due(At(104)));
  EXPECT_EQ(queue_.NextDue(), At(113));
  EXPECT_EQ(queue_.Size(), 2u);
}

TEST_F(BatchQueueTest, NobodyWaitsForMoreOnceNoMoreWillCome) {
  Add(100);
  EXPECT_FALSE(queue_.Due(At(100)));
  queue_.Drain();
  EXPECT_TRUE(queue_.Due(At(100)));
  EXPECT_FALSE(queue_.Over());
  Take();
  EXPECT_TRUE(queue_.Over());
}

TEST(BatchQueueWithoutDelayTest, TakesWhatIsThere) {
  BatchQueue queue(8, milliseconds(0));
  queue.Add({.received = BatchQueue::TimePoint(milliseconds(7))});
  EXPECT_TRUE(queue.Due(BatchQueue::TimePoint(milliseconds(7))));
}

TEST(BatchSizesTest, ArePowersOfTwoAndTheLargest) {
  EXPECT_EQ(BatchSizes(1), (std::vector<int>{1}));
  EXPECT_EQ(BatchSizes(8), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(BatchSizes(12), (std::vector<int>{1, 2, 4, 8, 12}));
}

TEST(BatchSizesTest, EveryCountGoesIntoTheSmallestThatHoldsIt) {
  for (const int most : {1, 2, 7, 8, 12, 33}) {
    for (int count = 1; count <= most; ++count) {
      int smallest = most;
      for (const int size : BatchSizes(most)) {
        if (size >= count) smallest = std::min(smallest, size);
      }
      EXPECT_EQ(PaddedBatch(count, most), smallest) << count << " of " << most;
    }
  }
}

}  // namespace
}  // namespace cosched
