#include "workloads/cifar10_dataset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/workloads/expect_input_error.h"
#include "tests/workloads/temporary_folder.h"

namespace cosched {
namespace {

// Red 30 everywhere, green 60, blue 0 but for the last pixel's 255.
std::string Record(char label) {
  std::string record(1, label);
  record += std::string(1024, 30) + std::string(1024, 60) + std::string(1023, 0) + '\xff';
  return record;
}

struct Cifar10DatasetTest : testing::Test {
  Cifar10DatasetTest() {
    for (int i = 1; i <= 5; ++i) {
      folder.Write(Name(i), Record(static_cast<char>(i)) + Record(static_cast<char>(i + 4)));
    }
  }
  static std::string Name(int i) { return "data_batch_" + std::to_string(i) + ".bin"; }
  void ExpectError(int file, const std::string& text) {
    ExpectInputError([&] { OpenCifar10(folder.Path()); }, folder.PathOf(Name(file)), text);
  }
  TemporaryFolder folder;
};

TEST_F(Cifar10DatasetTest, ReadsAllFilesInOrder) {
  const auto dataset = OpenCifar10(folder.Path());
  EXPECT_EQ(dataset->Size(), 10);
  EXPECT_EQ(dataset->ImageShape(), (Shape{32, 32, 3}));
  EXPECT_EQ(dataset->Classes(), 10);
  std::vector<float> pixels(3072);
  EXPECT_EQ(dataset->Read(0, pixels.data()), 1);
  EXPECT_EQ(dataset->Read(9, pixels.data()), 9);
}

TEST_F(Cifar10DatasetTest, InterleavesPlanesAndStandardises) {
  std::vector<float> pixels(3072);
  OpenCifar10(folder.Path())->Read(0, pixels.data());
  double sum = 0, squares = 0;
  for (float pixel : pixels) {
    sum += pixel;
    squares += pixel * pixel;
  }
  EXPECT_NEAR(sum / 3072, 0, 1e-4);
  EXPECT_NEAR(squares / 3072, 1, 1e-3);
  EXPECT_LT(pixels[2], pixels[0]);  // Blue < red < green in every pixel but the last,
  EXPECT_LT(pixels[0], pixels[1]);
  EXPECT_GT(pixels[3071], pixels[3070]);  // whose blue is brightest.
}

TEST_F(Cifar10DatasetTest, FlatImageStaysFinite) {
  folder.Write(Name(1), std::string(3073, 5));
  std::vector<float> pixels(3072);
  EXPECT_EQ(OpenCifar10(folder.Path())->Read(0, pixels.data()), 5);
  for (float pixel : pixels) ASSERT_EQ(pixel, 0.0f);
}

TEST_F(Cifar10DatasetTest, MissingFileIsNamed) {
  std::filesystem::remove(folder.PathOf(Name(4)));
  ExpectError(4, "cannot be opened: No such file");
}

TEST_F(Cifar10DatasetTest, RefusesPartsOfRecords) {
  for (size_t length : {0, 1, 3072, 3074, 2 * 3073 - 1}) {
    folder.Write(Name(2), (Record(1) + Record(2)).substr(0, length));
    ExpectError(2, "has " + std::to_string(length) + " bytes");
  }
}

TEST_F(Cifar10DatasetTest, RefusesOversizedFile) {
  folder.Write(Name(3), "");
  std::filesystem::resize_file(folder.PathOf(Name(3)), uintmax_t{10001} * 3073);  // A sparse file.
  ExpectError(3, "longer than 30730000 bytes");
}

TEST_F(Cifar10DatasetTest, RefusesWrongLabel) {
  folder.Write(Name(5), Record(1) + Record(10));
  ExpectError(5, "label 10; allowed: 0 to 9");
}

}  // namespace
}  // namespace cosched
