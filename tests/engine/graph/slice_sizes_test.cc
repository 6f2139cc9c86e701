#include "engine/graph/slice_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cosched {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr int64_t kCache = 1000;

std::vector<int64_t> Sizes(const std::vector<SlicedNode>& nodes, int64_t batch = 16,
                           int64_t most = 16) {
  return SliceSizes(nodes, {.cache = kCache, .batch = batch, .least = 1, .most = most});
}

TEST(SliceSizesTest, LargeImagesAreTakenFewAtATime) {
  EXPECT_THAT(Sizes({{.images = 900, .weights = 500}, {.images = 900, .weights = 501}}), Each(1));
}

// 40 bytes of images a node beside 9,000 of weights: 16 images fit and share one fetch.
TEST(SliceSizesTest, LargeWeightsAreSharedByManyImages) {
  EXPECT_THAT(Sizes({{.images = 40, .weights = 9000}, {.images = 40, .weights = 9000}}), Each(16));
  EXPECT_THAT(Sizes({{.images = 40, .weights = 9000}}, 16, 4), Each(4)) << "no more than asked for";
}

TEST(SliceSizesTest, WeightsThatStayInTheCacheAreFetchedOnceAnyway) {
  EXPECT_THAT(Sizes({{.images = 900, .weights = 500}, {.images = 90, .weights = 500}}), Each(1));
}

TEST(SliceSizesTest, SizesRiseWhereWeightsOutgrowTheCache) {
  EXPECT_THAT(Sizes({{.images = 900, .weights = 10, .carried = 30},
                     {.images = 900, .weights = 10, .carried = 30},
                     {.images = 60, .weights = 5000, .carried = 30},
                     {.images = 60, .weights = 5000}}),
              ElementsAre(1, 1, 16, 16));
}

// The same, but what is carried across is more than what is saved.
TEST(SliceSizesTest, ARiseThatCopiesMoreThanItSavesIsNone) {
  EXPECT_THAT(Sizes({{.images = 900, .weights = 10, .carried = 600},
                     {.images = 900, .weights = 10, .carried = 600},
                     {.images = 400, .weights = 1500}}),
              Each(1));
}

TEST(SliceSizesTest, EachSizeDividesTheNextAndTheBatch) {
  const std::vector<int64_t> sizes = Sizes({{.images = 300, .weights = 10, .carried = 1},
                                            {.images = 300, .weights = 2000, .carried = 1},
                                            {.images = 60, .weights = 9000}},
                                           12, 12);
  EXPECT_THAT(sizes, ElementsAre(3, 12, 12));
  // Slices of 4 and of 6 images would fetch the least.
  EXPECT_THAT(Sizes({{.images = 250, .weights = 600, .carried = 1},
                     {.images = 160, .weights = 800, .carried = 1},
                     {.images = 160, .weights = 800}},
                    12, 12),
              ElementsAre(4, 12, 12));
  EXPECT_THAT(Sizes({{.images = 40, .weights = 9000}}, 7, 6), Each(1)) << "a prime number";
}

TEST(SliceSizesTest, NoNodesHaveNoSizes) { EXPECT_TRUE(Sizes({}).empty()); }

}  // namespace
}  // namespace cosched
