#include "workloads/weights_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "engine/base/error.h"
#include "tests/workloads/expect_input_error.h"
#include "tests/workloads/temporary_folder.h"
#include "workloads/training_job.h"

namespace cosched {
namespace {

NamedTensors Sample() {
  const std::vector<float> floats = {1, -2, 3.5, 4, 5, 6};
  const std::vector<int32_t> ints = {7, -8};
  return {{"conv1/filter", Tensor::Of({2, 3}, floats)},
          {"labels", Tensor::Of({2}, ints)},
          {"loss", Tensor::Scalar(0.25f)}};
}

// The bytes with a checksum that fits.
std::string Signed(std::string bytes) {
  const auto checksum =
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  bytes.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  return bytes;
}

template <typename Number>
std::string Bytes(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

const std::string kOneTensor = "COSCHEDW" + Bytes(uint32_t{1}) + Bytes(uint32_t{1});

class WeightsFileTest : public ::testing::Test {
 protected:
  std::string File() const { return folder_.PathOf("w"); }
  void ExpectRefused(const std::string& bytes, const std::string& text) const {
    folder_.Write("w", bytes);
    ExpectInputError([&] { LoadTensors(File()); }, File(), text);
  }
  TemporaryFolder folder_;
};

TEST_F(WeightsFileTest, WhatIsSavedIsLoaded) {
  SaveTensors(Sample(), File());
  const NamedTensors loaded = LoadTensors(File());
  ASSERT_EQ(loaded.size(), 3U);
  for (const auto& [name, value] : Sample()) {
    const Tensor& other = loaded.at(name);
    EXPECT_EQ(other.GetShape(), value.GetShape());
    EXPECT_EQ(other.Type(), value.Type());
    EXPECT_EQ(std::memcmp(other.Data(), value.Data(), value.Bytes()), 0) << name;
  }
  SaveTensors({}, File());
  EXPECT_TRUE(LoadTensors(File()).empty());
}

// The format of the header, byte by byte: scripts read and write it, too.
TEST_F(WeightsFileTest, HasTheDocumentedFormat) {
  SaveTensors({{"a/b", Tensor::Of({1, 2}, std::vector<float>{1.5f, -2})}}, File());
  EXPECT_EQ(folder_.Contents("w"),
            Signed(kOneTensor + Bytes(uint32_t{3}) + "a/b" + Bytes(uint32_t{0}) +
                   Bytes(uint32_t{2}) + Bytes(int64_t{1}) + Bytes(int64_t{2}) + Bytes(uint64_t{8}) +
                   Bytes(1.5f) + Bytes(-2.0f)));
}

TEST_F(WeightsFileTest, EveryCutAndEveryChangedByteIsRefused) {
  SaveTensors(Sample(), File());
  const std::string whole = folder_.Contents("w");
  for (size_t length = 0; length < whole.size(); ++length) {
    folder_.Write("w", whole.substr(0, length));
    EXPECT_THROW(LoadTensors(File()), InputError) << length;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    folder_.Write("w", damaged);
    EXPECT_THROW(LoadTensors(File()), InputError) << i;
  }
  ExpectRefused(whole + "x", "");
}

TEST_F(WeightsFileTest, HostileFilesAreRefusedByName) {
  const std::string name = Bytes(uint32_t{1}) + "a";
  const std::string scalar = name + Bytes(uint32_t{0}) + Bytes(uint32_t{0}) + Bytes(uint64_t{4});
  const std::string vector = name + Bytes(uint32_t{0}) + Bytes(uint32_t{1});
  ExpectRefused("", "cut off");
  ExpectRefused("PK\3\4 is a zip file", "no file of tensors");
  ExpectRefused(Signed("COSCHEDW" + Bytes(uint32_t{2}) + Bytes(uint32_t{0})), "version 2");
  ExpectRefused(Signed("COSCHEDW" + Bytes(uint32_t{1}) + Bytes(uint32_t{0xffffffff})), "a name of");
  ExpectRefused(Signed(kOneTensor + Bytes(uint32_t{0xffffffff})), "4294967295 characters");
  ExpectRefused(Signed(kOneTensor + Bytes(uint32_t{1}) + "\n"), "not printable");
  ExpectRefused(Signed(kOneTensor + name), "cut off");
  ExpectRefused(Signed(kOneTensor + name + Bytes(uint64_t{2})), "type 2");
  ExpectRefused(Signed(kOneTensor + name + Bytes(uint32_t{0}) + Bytes(uint32_t{9})), "rank 9");
  ExpectRefused(Signed(kOneTensor + vector + Bytes(int64_t{-1})), "size -1");
  // A terabyte, and more than 64 bits can count: no memory is taken.
  ExpectRefused(Signed(kOneTensor + vector + Bytes(int64_t{1} << 38) + Bytes(uint64_t{1} << 40)),
                "cut off in \"a\"");
  ExpectRefused(Signed(kOneTensor + vector + Bytes(int64_t{1} << 62) + Bytes(uint64_t{0})),
                "cut off in \"a\"");
  ExpectRefused(Signed(kOneTensor + vector + Bytes(int64_t{2}) + Bytes(uint64_t{4})), "4 bytes");
  ExpectRefused(Signed("COSCHEDW" + Bytes(uint32_t{1}) + Bytes(uint32_t{2}) + scalar + Bytes(0) +
                       scalar + Bytes(0)),
                "\"a\" twice");
  ExpectInputError([&] { LoadTensors(folder_.PathOf("none")); }, folder_.PathOf("none"),
                   "can't be read");
  ExpectInputError([&] { LoadTensors(folder_.Path()); }, folder_.Path(), "can't be read");
}

TEST_F(WeightsFileTest, AFileThatCannotBeWrittenLeavesNothing) {
  EXPECT_THROW(SaveTensors(Sample(), folder_.PathOf("none/w")), OutputError);
  std::filesystem::create_directory(folder_.PathOf("w"));
  EXPECT_THROW(SaveTensors(Sample(), File()), OutputError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.Path()), {}), 1);
}

JobSettings Lenet(Mode mode, const std::string& weights) {
  JobSettings settings;
  settings.model = "lenet5";
  settings.mode = mode;
  settings.weights_file = weights;
  return settings;
}

TEST_F(WeightsFileTest, TrainedWeightsInferAndTrainOn) {
  const auto digits = OpenDataset("procedural", "", {28, 28, 1}, 10, 1);
  const auto part = Slice(*digits, 0, 64);
  TrainingJob trained(Lenet(Mode::kTrain, ""), *digits);
  for (int i = 0; i < 30; ++i) trained.Step();
  trained.SaveWeights(File());
  TrainingJob inferring(Lenet(Mode::kInfer, File()), *digits);
  EXPECT_EQ(inferring.Accuracy(*part), trained.Accuracy(*part));
  TrainingJob going_on(Lenet(Mode::kTrain, File()), *digits);
  EXPECT_EQ(going_on.Accuracy(*part), trained.Accuracy(*part));
  const Tensor weights = going_on.session().Variable("fc1/weights");
  EXPECT_EQ(std::memcmp(weights.Data(), trained.session().Variable("fc1/weights").Data(),
                        weights.Bytes()),
            0);
}

TEST_F(WeightsFileTest, WeightsOfAnotherModelAreRefused) {
  TrainingJob(Lenet(Mode::kTrain, "")).SaveWeights(File());
  JobSettings other = Lenet(Mode::kInfer, File());
  other.model = "resnet20";
  ExpectInputError([&] { TrainingJob job(other); }, File(), "\"conv1/filter\"");
  NamedTensors weights = LoadTensors(File());
  weights.at("fc3/bias") = Tensor(Shape{11});
  SaveTensors(weights, File());
  ExpectInputError([&] { TrainingJob job(Lenet(Mode::kInfer, File())); }, File(), "[11]");
  weights.at("fc3/bias") = Tensor(Shape{10});
  weights.emplace("fc4/bias", Tensor(Shape{10}));
  SaveTensors(weights, File());
  ExpectInputError([&] { TrainingJob job(Lenet(Mode::kInfer, File())); }, File(),
                   "\"fc4/bias\" is no variable");
}

}  // namespace
}  // namespace cosched
