#include "workloads/procedural_dataset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace cosched {
namespace {

std::vector<float> Image(const Dataset& dataset, int64_t index) {
  std::vector<float> pixels(static_cast<size_t>(dataset.ImageShape().Elements()));
  dataset.Read(index, pixels.data());
  return pixels;
}

TEST(ProceduralDatasetTest, HasTheShapeAndClassesAskedFor) {
  const auto dataset = MakeProceduralDataset({7, 9, 2}, 5, 1);
  EXPECT_EQ(dataset->ImageShape(), (Shape{7, 9, 2}));
  EXPECT_EQ(dataset->Classes(), 5);
  EXPECT_EQ(dataset->Size(), kProceduralSize);
  std::set<int> labels;
  std::vector<float> pixels(126);
  for (int64_t i = 0; i < 5; ++i) labels.insert(dataset->Read(i, pixels.data()));
  EXPECT_EQ(labels, (std::set<int>{0, 1, 2, 3, 4}));
}

TEST(ProceduralDatasetTest, IsTheSameForASeedAndDiffersBetweenSeeds) {
  const auto first = MakeProceduralDataset({8, 8, 3}, 10, 7);
  const auto again = MakeProceduralDataset({8, 8, 3}, 10, 7);
  const auto other = MakeProceduralDataset({8, 8, 3}, 10, 8);
  for (int64_t i : {int64_t{0}, int64_t{1}, int64_t{4711}, kProceduralSize - 1}) {
    EXPECT_EQ(Image(*first, i), Image(*again, i));
    EXPECT_NE(Image(*first, i), Image(*other, i));
  }
}

TEST(ProceduralDatasetTest, ImagesOfOneClassDiffer) {
  const auto dataset = MakeProceduralDataset({8, 8, 1}, 10, 7);
  EXPECT_NE(Image(*dataset, 3), Image(*dataset, 13));
}

TEST(ProceduralDatasetTest, WritesExactlyItsPixels) {
  const auto dataset = MakeProceduralDataset({3, 5, 1}, 2, 1);
  std::vector<float> pixels(16, 1234.0f);
  dataset->Read(0, pixels.data());
  EXPECT_EQ(pixels[15], 1234.0f);
}

TEST(ProceduralDatasetTest, PixelsHaveZeroMeanAndUnitVariance) {
  const auto dataset = MakeProceduralDataset({32, 32, 3}, 10, 1);
  double sum = 0, squares = 0, count = 0;
  for (int64_t i = 0; i < 200; ++i) {
    for (float pixel : Image(*dataset, i)) {
      ASSERT_TRUE(std::isfinite(pixel));
      sum += pixel;
      squares += pixel * pixel;
      count += 1;
    }
  }
  EXPECT_NEAR(sum / count, 0, 0.1);
  EXPECT_NEAR(squares / count, 1, 0.15);
}

}  // namespace
}  // namespace cosched
