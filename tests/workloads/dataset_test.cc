#include "workloads/dataset.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/workloads/expect_input_error.h"

namespace cosched {
namespace {

TEST(DatasetTest, NamesAreKnown) {
  EXPECT_EQ(DatasetNames(), "procedural, mnist, cifar10");
  for (const char* name : {"procedural", "mnist", "cifar10"}) EXPECT_TRUE(IsDatasetName(name));
  EXPECT_FALSE(IsDatasetName("imagenet"));
  EXPECT_FALSE(IsDatasetName(""));
}

TEST(DatasetTest, UnknownNameListsTheAllowedOnes) {
  ExpectInputError(
      [] {
        OpenDataset("imagenet", "", {8, 8, 1}, 2, 1);
      },
      "dataset", "\"imagenet\"; allowed: procedural, mnist, cifar10");
}

TEST(DatasetTest, FilesNeedADirectory) {
  for (const char* name : {"mnist", "cifar10"}) {
    ExpectInputError([&] { OpenDataset(name, "", {8, 8, 1}, 2, 1); }, "data_directory", name);
  }
}

TEST(DatasetTest, SliceReadsItsPartOfTheWhole) {
  const auto whole = OpenDataset("procedural", "", {4, 5, 2}, 3, 1);
  const auto slice = Slice(*whole, 100, 7);
  EXPECT_EQ(slice->Size(), 7);
  EXPECT_EQ(slice->ImageShape(), (Shape{4, 5, 2}));
  EXPECT_EQ(slice->Classes(), 3);
  std::vector<float> ours(40), theirs(40);
  EXPECT_EQ(slice->Read(6, ours.data()), whole->Read(106, theirs.data()));
  EXPECT_EQ(ours, theirs);
}

TEST(DatasetDeathTest, SliceBeyondTheWholeIsABug) {
  const auto whole = OpenDataset("procedural", "", {4, 4, 1}, 3, 1);
  EXPECT_DEATH(Slice(*whole, whole->Size() - 1, 2), "images");
  const auto slice = Slice(*whole, 0, 2);
  std::vector<float> pixels(16);
  EXPECT_DEATH(slice->Read(2, pixels.data()), "image 2");
}

}  // namespace
}  // namespace cosched
