#include "workloads/mnist_dataset.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/workloads/expect_input_error.h"
#include "tests/workloads/temporary_folder.h"

namespace cosched {
namespace {

std::string Word(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

// Two images of 2 x 3 pixels, with values 0, 1, … 11, and their labels.
const std::string kImages =
    Word(0x803) + Word(2) + Word(2) + Word(3) + std::string("\0\1\2\3\4\5\6\7\10\11\12\13", 12);
const std::string kLabels = Word(0x801) + Word(2) + std::string("\7\11", 2);

struct MnistDatasetTest : testing::Test {
  void Write(const std::string& images, const std::string& labels) {
    folder.Write("train-images-idx3-ubyte", images);
    folder.Write("train-labels-idx1-ubyte", labels);
  }
  void ExpectError(const std::string& file, const std::string& text) {
    ExpectInputError([&] { OpenMnist(folder.Path()); }, folder.PathOf(file), text);
  }
  TemporaryFolder folder;
};

TEST_F(MnistDatasetTest, ReadsPixelsAndLabels) {
  Write(kImages, kLabels);
  const auto dataset = OpenMnist(folder.Path());
  EXPECT_EQ(dataset->Size(), 2);
  EXPECT_EQ(dataset->ImageShape(), (Shape{2, 3, 1}));
  EXPECT_EQ(dataset->Classes(), 10);
  std::vector<float> pixels(6);
  EXPECT_EQ(dataset->Read(0, pixels.data()), 7);
  EXPECT_NEAR(pixels[0], -0.1307 / 0.3081, 1e-5);
  EXPECT_EQ(dataset->Read(1, pixels.data()), 9);
  EXPECT_NEAR(pixels[5], (11 / 255.0 - 0.1307) / 0.3081, 1e-5);
}

TEST_F(MnistDatasetTest, ReadsGzipAndMixtures) {
  folder.WriteGzip("train-images-idx3-ubyte.gz", kImages);
  folder.Write("train-labels-idx1-ubyte", kLabels);
  EXPECT_EQ(OpenMnist(folder.Path())->Size(), 2);
}

TEST_F(MnistDatasetTest, PrefersTrainingFiles) {
  folder.WriteGzip("mnist-t10k-images-idx3-ubyte.gz", kImages);
  folder.WriteGzip("mnist-t10k-labels-idx1-ubyte.gz", kLabels);
  EXPECT_EQ(OpenMnist(folder.Path())->Size(), 2);
  const std::string one = Word(0x803) + Word(1) + Word(1) + Word(1) + "x";
  folder.WriteGzip("train-images-idx3-ubyte.gz", one);
  folder.WriteGzip("train-labels-idx1-ubyte.gz", Word(0x801) + Word(1) + "\1");
  EXPECT_EQ(OpenMnist(folder.Path())->Size(), 1);
}

TEST_F(MnistDatasetTest, MissingFilesAreNamed) {
  ExpectInputError([&] { OpenMnist(folder.Path()); }, folder.Path(), "train-images-idx3-ubyte");
  ExpectInputError([&] { OpenMnist("/no/such/folder"); }, "/no/such/folder", "no MNIST files");
  folder.Write("train-images-idx3-ubyte", kImages);
  ExpectError("train-labels-idx1-ubyte", "missing");
}

TEST_F(MnistDatasetTest, RefusesWrongMagic) {
  Write(kLabels, kLabels);
  ExpectError("train-images-idx3-ubyte", "magic number 2049; allowed: 2051");
  Write(kImages, kImages);
  ExpectError("train-labels-idx1-ubyte", "magic number 2051; allowed: 2049");
}

TEST_F(MnistDatasetTest, RefusesEveryTruncation) {
  for (size_t length = 0; length < kImages.size(); ++length) {
    Write(kImages.substr(0, length), kLabels);
    ExpectError("train-images-idx3-ubyte", "truncated");
  }
  for (size_t length = 0; length < kLabels.size(); ++length) {
    Write(kImages, kLabels.substr(0, length));
    ExpectError("train-labels-idx1-ubyte", "truncated");
  }
}

TEST_F(MnistDatasetTest, RefusesTruncatedAndDamagedGzip) {
  folder.Write("train-labels-idx1-ubyte", kLabels);
  folder.WriteGzip("train-images-idx3-ubyte.gz", kImages);
  const std::string zipped = folder.Contents("train-images-idx3-ubyte.gz");
  for (size_t length = 2; length < zipped.size(); ++length) {
    folder.Write("train-images-idx3-ubyte.gz", zipped.substr(0, length));
    ExpectError("train-images-idx3-ubyte.gz", "");
  }
  std::string damaged = zipped;
  damaged[damaged.size() - 6] ^= 1;  // In the checksum.
  folder.Write("train-images-idx3-ubyte.gz", damaged);
  ExpectError("train-images-idx3-ubyte.gz", "cannot be read");
}

TEST_F(MnistDatasetTest, RefusesSizesThatPromiseTooMuch) {
  const uint32_t huge = 0xffffffff;
  Write(Word(0x803) + Word(huge) + Word(huge) + Word(huge), kLabels);
  ExpectError("train-images-idx3-ubyte", "has size 4294967295 in dimension 0");
  Write(Word(0x803) + Word(2) + Word(0) + Word(3), kLabels);
  ExpectError("train-images-idx3-ubyte", "has size 0 in dimension 1");
  // Each size within its limits, but a terabyte together.
  Write(Word(0x803) + Word(1000000) + Word(1024) + Word(1024), kLabels);
  ExpectError("train-images-idx3-ubyte", "promises 1048576000000 bytes");
  // Four gigabytes that are not there: no memory may be taken for them.
  Write(Word(0x803) + Word(4096) + Word(1024) + Word(1024), kLabels);
  ExpectError("train-images-idx3-ubyte", "truncated");
}

TEST_F(MnistDatasetTest, RefusesBytesAfterTheEnd) {
  Write(kImages + "x", kLabels);
  ExpectError("train-images-idx3-ubyte", "after the last record");
}

TEST_F(MnistDatasetTest, RefusesLabelsThatDoNotFit) {
  Write(kImages, Word(0x801) + Word(1) + "\1");
  ExpectError("train-labels-idx1-ubyte", "has 1 labels; allowed: 2");
  Write(kImages, Word(0x801) + Word(2) + "\1\12");
  ExpectError("train-labels-idx1-ubyte", "label 10; allowed: 0 to 9");
}

TEST_F(MnistDatasetTest, RefusesAFolderInPlaceOfAFile) {
  std::filesystem::create_directory(folder.PathOf("train-images-idx3-ubyte"));
  folder.Write("train-labels-idx1-ubyte", kLabels);
  ExpectError("train-images-idx3-ubyte", "");
}

}  // namespace
}  // namespace cosched
