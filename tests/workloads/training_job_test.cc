#include "workloads/training_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "tests/workloads/expect_input_error.h"
#include "workloads/model.h"

namespace cosched {
namespace {

// Remembers which images were read: the label of an image tells its class, the log its index.
class LoggingDataset : public Dataset {
 public:
  LoggingDataset(const Dataset& whole, int64_t size) : whole_(whole), size_(size) {}
  int64_t Size() const override { return size_; }
  Shape ImageShape() const override { return whole_.ImageShape(); }
  int Classes() const override { return whole_.Classes(); }
  int Read(int64_t index, float* pixels) const override {
    log.push_back(index);
    return whole_.Read(index, pixels);
  }
  mutable std::vector<int64_t> log;

 private:
  const Dataset& whole_;
  int64_t size_;
};

JobSettings Lenet(Mode mode = Mode::kTrain) {
  JobSettings settings;
  settings.model = "lenet5";
  settings.mode = mode;
  settings.session.intra_op_parallelism_threads = 2;
  return settings;
}

std::unique_ptr<Dataset> Digits() { return OpenDataset("procedural", "", {28, 28, 1}, 10, 1); }

double MeanLoss(TrainingJob* job, int steps) {
  double sum = 0;
  for (int i = 0; i < steps; ++i) sum += job->Step().loss;
  return sum / steps;
}

TEST(ModeTest, TextsRoundTrip) {
  for (Mode mode : {Mode::kTrain, Mode::kInfer}) {
    Mode parsed = mode == Mode::kTrain ? Mode::kInfer : Mode::kTrain;
    EXPECT_TRUE(ParseMode(ToString(mode), &parsed));
    EXPECT_EQ(parsed, mode);
  }
  Mode untouched = Mode::kInfer;
  EXPECT_FALSE(ParseMode("Train", &untouched));
  EXPECT_FALSE(ParseMode("", &untouched));
  EXPECT_EQ(untouched, Mode::kInfer);
}

TEST(TrainingJobTest, BadSettingsAreInputErrors) {
  JobSettings settings = Lenet();
  settings.model = "lenet6";
  ExpectInputError([&] { TrainingJob job(settings); }, "model", "lenet5, resnet20");
  settings = Lenet();
  settings.dataset = "imagenet";
  ExpectInputError([&] { TrainingJob job(settings); }, "dataset", "imagenet");
  for (int batch : {0, -3, 8193}) {
    settings = Lenet();
    settings.batch = batch;
    ExpectInputError([&] { TrainingJob job(settings); }, "batch", std::to_string(batch));
  }
}

TEST(TrainingJobTest, DatasetMustFitTheModel) {
  const auto colour = OpenDataset("procedural", "", {28, 28, 3}, 10, 1);
  ExpectInputError([&] { TrainingJob job(Lenet(), *colour); }, "dataset", "[28,28,1]");
  const auto few = OpenDataset("procedural", "", {28, 28, 1}, 9, 1);
  ExpectInputError([&] { TrainingJob job(Lenet(), *few); }, "dataset", "9 classes");
  TrainingJob job(Lenet());
  ExpectInputError([&] { job.Accuracy(*colour); }, "dataset", "[28,28,1]");
}

TEST(TrainingJobTest, AnEpochReadsEachImageOnceInANewOrder) {
  const auto digits = Digits();
  LoggingDataset dataset(*digits, 70);  // Two batches of 32; six images are left over.
  TrainingJob job(Lenet(), dataset);
  EXPECT_EQ(job.StepsDone(), 0);
  std::vector<std::vector<int64_t>> epochs;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(job.Step().images, 32);
    epochs.push_back(dataset.log);
    dataset.log.clear();
    std::vector<int64_t> sorted = epochs.back();
    std::ranges::sort(sorted);
    EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
    EXPECT_EQ(sorted.size(), 64u);
  }
  EXPECT_EQ(job.StepsDone(), 6);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
}

TEST(TrainingJobTest, OrderComesFromTheSeed) {
  const auto digits = Digits();
  std::vector<std::vector<int64_t>> logs;
  for (uint64_t seed : {3, 3, 4}) {
    LoggingDataset dataset(*digits, 200);
    JobSettings settings = Lenet();
    settings.seed = seed;
    TrainingJob job(settings, dataset);
    for (int i = 0; i < 8; ++i) job.Step();
    logs.push_back(dataset.log);
  }
  EXPECT_EQ(logs[0], logs[1]);
  EXPECT_NE(logs[0], logs[2]);
}

TEST(TrainingJobTest, FirstLossIsThatOfGuessing) {
  JobSettings settings = Lenet();
  settings.model = "resnet20";
  EXPECT_NEAR(TrainingJob(settings).Step().loss, std::log(10.0), 0.2);
}

TEST(TrainingJobTest, Lenet5LearnsTheProceduralSet) {
  const auto digits = Digits();
  const auto train = Slice(*digits, 0, 4096), held_out = Slice(*digits, 4096, 1000);
  TrainingJob job(Lenet(), *train);
  EXPECT_LT(job.Accuracy(*held_out), 0.3);         // Chance is 0.1.
  for (int i = 0; i < 4096 / 32; ++i) job.Step();  // An epoch.
  const double accuracy = job.Accuracy(*held_out);
  RecordProperty("accuracy", std::to_string(accuracy));
  EXPECT_GT(accuracy, 0.7);
}

// The accuracy also tells that the running statistics got into the inference graph: without them
// it would be that of guessing, 0.1.
TEST(TrainingJobTest, Resnet20LearnsTheProceduralSet) {
  JobSettings settings = Lenet();
  settings.model = "resnet20";
  const auto images = OpenDataset("procedural", "", {32, 32, 3}, 10, 1);
  const auto few = Slice(*images, 0, 96);
  TrainingJob job(settings, *few);
  const double first = MeanLoss(&job, 5);
  MeanLoss(&job, 40);
  EXPECT_LT(MeanLoss(&job, 5), 0.5 * first);
  EXPECT_GT(job.Accuracy(*few), 0.3);
}

TEST(TrainingJobTest, StepCountsRightPredictions) {
  TrainingJob job(Lenet());
  for (int i = 0; i < 100; ++i) job.Step();
  int correct = 0;
  for (int i = 0; i < 10; ++i) correct += job.Step().correct;
  EXPECT_GT(correct, 160);
  EXPECT_LE(correct, 320);
}

// Which split is the fastest is a matter of the machine; what comes of it is not.
TEST(TrainingJobTest, LooksForItsSplitWithoutAnotherResult) {
  const auto digits = Digits();
  const auto hash_after_training = [&](bool auto_split) {
    JobSettings settings = Lenet();
    settings.session.inter_op_parallelism_threads = 2;
    settings.session.intra_op_parallelism_threads = 2;
    settings.auto_split = auto_split;
    TrainingJob job(settings, *digits);
    job.session().Resize(CpuSet::Range(0, 1), {1, 2});
    for (int i = 0; i < 60; ++i) job.Step();
    return job.session().VariablesHash();
  };
  EXPECT_EQ(hash_after_training(true), hash_after_training(false));
}

// The graph's batch is fixed; a data set whose size isn't a multiple of it must give the same
// answer as batches of one.
TEST(TrainingJobTest, AccuracyCountsTheLastPartialBatch) {
  const auto digits = Digits();
  JobSettings single = Lenet();
  single.batch = 1;
  TrainingJob trained(Lenet()), one(single);
  for (int i = 0; i < 30; ++i) trained.Step();
  for (const std::string& name : one.session().VariableNames()) {
    one.session().SetVariable(name, trained.session().Variable(name));
  }
  for (int64_t size : {1, 31, 32, 45}) {
    const auto part = Slice(*digits, 5000, size);
    EXPECT_DOUBLE_EQ(trained.Accuracy(*part), one.Accuracy(*part)) << size;
  }
}

TEST(TrainingJobTest, AccuracyLeavesTheTrainingAsItWas) {
  const auto digits = Digits();
  const auto held_out = Slice(*digits, 8000, 100);
  TrainingJob asked(Lenet(), *digits), left_alone(Lenet(), *digits);
  for (int i = 0; i < 5; ++i) {
    asked.Step();
    left_alone.Step();
    asked.Accuracy(*held_out);
  }
  EXPECT_EQ(asked.session().VariablesHash(), left_alone.session().VariablesHash());
}

TEST(TrainingJobTest, AccuracyWaitsWhilePausedAndGoesOn) {
  const auto digits = Digits();
  const auto part = Slice(*digits, 0, 64);
  TrainingJob job(Lenet(), *digits);
  const double expected = job.Accuracy(*part);
  job.session().Resize({}, {0, 0});
  std::jthread resume([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    job.session().Resize({0}, {1, 1});
  });
  EXPECT_EQ(job.Accuracy(*part), expected);
}

TEST(TrainingJobTest, InferenceHasNoVariables) {
  TrainingJob job(Lenet(Mode::kInfer));
  EXPECT_TRUE(job.session().VariableNames().empty());  // The optimiser made them constants.
  const StepResult result = job.Step();
  EXPECT_EQ(result.images, 32);
  EXPECT_EQ(result.loss, 0);
  EXPECT_LE(result.correct, 32);
  EXPECT_EQ(job.StepsDone(), 1);
}

TEST(TrainingJobTest, InferenceCountsAsAccuracyDoes) {
  const auto digits = Digits();
  const auto part = Slice(*digits, 0, 96);
  TrainingJob job(Lenet(Mode::kInfer), *part);
  int correct = 0;
  for (int i = 0; i < 3; ++i) correct += job.Step().correct;
  EXPECT_DOUBLE_EQ(job.Accuracy(*part), correct / 96.0);
}

}  // namespace
}  // namespace cosched
