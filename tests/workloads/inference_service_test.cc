// A real model that answers: every request once, the right class whatever its batch and padding,
// while the pools are resized and paused.

#include "workloads/inference_service.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "engine/kernels/kernel.h"
#include "tests/engine/base/few_threads.h"
#include "tests/workloads/expect_input_error.h"
#include "tests/workloads/temporary_folder.h"
#include "workloads/dataset.h"
#include "workloads/model.h"
#include "workloads/training_job.h"

namespace cosched {
namespace {

ServiceSettings Lenet(int max_batch, Split capacity) {
  ServiceSettings settings;
  settings.model = "lenet5";
  settings.batch = max_batch;
  settings.session.inter_op_parallelism_threads = capacity.inter;
  settings.session.intra_op_parallelism_threads = capacity.intra;
  return settings;
}

// Collects what is answered.
class Served {
 public:
  void Add(const ServedBatch& batch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes.push_back(batch.queries.size());
    in_order = in_order && batch.started <= batch.finished;
    for (size_t i = 0; i < batch.queries.size(); ++i) {
      in_order = in_order && batch.queries[i].received <= batch.started;
      twice = !classes.emplace(batch.queries[i].number, batch.classes[i]).second || twice;
    }
  }
  size_t Count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return classes.size();
  }

  std::map<uint64_t, int> classes;  // By number.
  std::vector<size_t> sizes;
  bool in_order = true, twice = false;

 private:
  std::mutex mutex_;
};

std::vector<ServiceQuery> Queries(uint64_t first, int count, int runs = 1) {
  std::vector<ServiceQuery> queries;
  for (int i = 0; i < count; ++i) {
    queries.push_back({.number = first + static_cast<uint64_t>(i),
                       .runs = runs,
                       .received = std::chrono::steady_clock::now()});
  }
  return queries;
}

class InferenceServiceTest : public ::testing::Test {
 protected:
  InferenceService& Open(const ServiceSettings& settings) {
    service_ = std::make_unique<InferenceService>(
        settings, [this](const ServedBatch& batch) { served_.Add(batch); });
    Begin(settings);
    return *service_;
  }
  void Begin(const ServiceSettings& settings) {
    service_->Pools().Resize({0}, {settings.session.inter_op_parallelism_threads,
                                   settings.session.intra_op_parallelism_threads});
    service_->Begin();
  }
  void Close() {
    service_->Drain();
    service_->WaitUntilOver();
    EXPECT_TRUE(served_.in_order);
    EXPECT_FALSE(served_.twice);
  }

  Served served_;
  std::unique_ptr<InferenceService> service_;
};

// One image at a time through a batch-1 service, beside all sizes of batches, full and padded.
TEST_F(InferenceServiceTest, AnswersDoNotDependOnBatchPaddingOrThreads) {
  constexpr int kRequests = 60;
  InferenceService& single = Open(Lenet(1, {1, 1}));
  single.Submit(Queries(0, kRequests));
  Close();
  ASSERT_EQ(served_.classes.size(), static_cast<size_t>(kRequests));
  const std::map<uint64_t, int> alone = served_.classes;
  EXPECT_EQ(served_.sizes, std::vector<size_t>(kRequests, 1));

  served_.classes.clear();
  served_.sizes.clear();
  InferenceService& batches = Open(Lenet(6, {2, 2}));
  uint64_t first = 0;
  for (const int count : {1, 3, 6, 7, 20, 2, 5, 16}) {
    batches.Submit(Queries(first, count));
    first += static_cast<uint64_t>(count);
    while (served_.Count() < first) std::this_thread::yield();
  }
  ASSERT_EQ(first, static_cast<uint64_t>(kRequests));
  Close();
  EXPECT_EQ(served_.classes, alone);
  EXPECT_LE(*std::ranges::max_element(served_.sizes), 6u);
  EXPECT_TRUE(std::ranges::count(served_.sizes, 6u) > 0) << "20 wait at once";
}

TEST_F(InferenceServiceTest, ServesWhileItIsResizedAndKeepsItsQueueWhilePaused) {
  constexpr int kRounds = 40, kEach = 5;
  InferenceService& service = Open(Lenet(4, {2, 2}));
  uint64_t next = 0;
  const auto resize = [&service](int round) {
    service.Pools().Resize({0}, round % 2 == 0 ? Split{1, 1} : Split{2, 2});
    std::this_thread::yield();
  };
  std::thread other([&] {
    for (int round = 1; round < kRounds; ++round) resize(round);
  });
  for (int round = 0; round < kRounds; ++round) {
    service.Submit(Queries(next, kEach));
    next += kEach;
    resize(round);
  }
  other.join();
  service.Pools().Resize({.paused = true});
  service.Pools().WaitSettled(std::chrono::seconds(60));
  const size_t before = served_.Count();
  service.Submit(Queries(next, 100));
  next += 100;
  // What computed has stopped in the middle, or had just ended: at most a batch a lane. Nothing is
  // taken up.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(served_.Count(), before + 2 * 4);
  EXPECT_GE(service.Waiting(), 100);
  service.Pools().Resize({.paused = false});
  Close();
  EXPECT_EQ(served_.classes.size(), static_cast<size_t>(next));
}

TEST_F(InferenceServiceTest, FewWaitForTheDelayUnlessItIsDrained) {
  ServiceSettings settings = Lenet(8, {1, 1});
  settings.max_delay = std::chrono::hours(1);
  InferenceService& service = Open(settings);
  service.Submit(Queries(0, 3));
  service.Submit(Queries(3, 5));
  while (served_.Count() < 8) std::this_thread::yield();
  service.Submit(Queries(8, 2));
  Close();
  EXPECT_EQ(served_.sizes, (std::vector<size_t>{8, 2}));
}

TEST_F(InferenceServiceTest, ARequestMayTakeSeveralRuns) {
  InferenceService& service = Open(Lenet(2, {1, 1}));
  service.Submit(Queries(0, 2, /*runs=*/3));
  Close();
  EXPECT_EQ(served_.classes.size(), 2u);
}

TEST_F(InferenceServiceTest, AnswersEvenWithNoNetwork) {
  ServiceSettings settings = Lenet(64, {1, 1});
  settings.model = "empty";
  InferenceService& service = Open(settings);
  service.Submit(Queries(0, 10000));
  Close();
  EXPECT_EQ(served_.classes.size(), 10000u);
}

TEST_F(InferenceServiceTest, BadSettingsAreInputErrors) {
  ServiceSettings settings = Lenet(0, {1, 1});
  ExpectInputError([&] { Open(settings); }, "max_batch", "1 or more");
  settings = Lenet(1, {1, 1});
  settings.model = "lenet6";
  ExpectInputError([&] { Open(settings); }, "model", "lenet5");
}

// The batch that takes all it may holds its lane until the one that was left over is answered by
// the other, which must have heard of it though it was not due yet.
TEST_F(InferenceServiceTest, WhatABatchLeavesIsAnsweredByAnotherLane) {
  ServiceSettings settings = Lenet(4, {2, 2});
  settings.max_delay = std::chrono::milliseconds(5);
  std::mutex mutex;
  std::condition_variable news;
  bool left_over_answered = false, in_time = false;
  service_ = std::make_unique<InferenceService>(settings, [&](const ServedBatch& batch) {
    served_.Add(batch);
    std::unique_lock<std::mutex> lock(mutex);
    if (batch.queries.size() == 4)
      in_time = news.wait_for(lock, std::chrono::seconds(60), [&] { return left_over_answered; });
    left_over_answered = left_over_answered || batch.queries.size() == 1;
    news.notify_all();
  });
  Begin(settings);
  service_->Submit(Queries(0, 5));
  while (served_.Count() < 5) std::this_thread::yield();
  Close();
  EXPECT_TRUE(in_time);
}

// Answers of the model as an inference program gives them, image by image.
std::vector<int> ClassesOf(const ServiceSettings& settings, int images) {
  const auto model = OpenModel(settings.model);
  ModelProgram program(*model, {.seed = settings.seed,
                                .weights_file = settings.weights_file,
                                .precision = settings.precision});
  const auto dataset = OpenDataset("procedural", "", model->image, model->classes, settings.seed);
  Tensor image({1, model->image[0], model->image[1], model->image[2]});
  std::vector<int> classes;
  for (int i = 0; i < images; ++i) {
    dataset->Read(i, image.Floats());
    const Tensor scores =
        program.session().Run({{ModelProgram::kImages, image}}, program.fetches())[0];
    classes.push_back(static_cast<int>(
        std::max_element(scores.Floats(), scores.Floats() + model->classes) - scores.Floats()));
  }
  return classes;
}

int Agreeing(const std::vector<int>& classes, const std::map<uint64_t, int>& answers) {
  int agreeing = 0;
  for (size_t i = 0; i < classes.size(); ++i) agreeing += answers.at(i) == classes[i] ? 1 : 0;
  return agreeing;
}

TEST_F(InferenceServiceTest, AnswersWithTheWeightsOfAFile) {
  constexpr int kRequests = 40;
  const TemporaryFolder folder;
  ServiceSettings settings = Lenet(8, {1, 1});
  const std::vector<int> of_the_seed = ClassesOf(settings, kRequests);
  JobSettings training;
  training.model = settings.model;
  training.seed = 9;
  settings.weights_file = folder.PathOf("weights");
  TrainingJob(training).SaveWeights(settings.weights_file);
  Open(settings).Submit(Queries(0, kRequests));
  Close();
  EXPECT_EQ(Agreeing(ClassesOf(settings, kRequests), served_.classes), kRequests);
  EXPECT_LT(Agreeing(of_the_seed, served_.classes), kRequests);

  settings.model = "resnet20";
  ExpectInputError([&] { Open(settings); }, settings.weights_file, "");
}

// Rounding may change the class of an image that is near to two of them.
TEST_F(InferenceServiceTest, AnswersInBFloat16) {
  ServiceSettings settings = Lenet(8, {1, 2});
  settings.model = "resnet20";
  const std::vector<int> floats = ClassesOf(settings, 20);
  settings.precision = Precision::kBFloat16;
  if (!CpuHasBFloat16())
    return ExpectInputError([&] { Open(settings); }, "precision", "AVX-512 BF16");
  Open(settings).Submit(Queries(0, 20));
  Close();
  EXPECT_GE(Agreeing(floats, served_.classes), 17);
}

TEST_F(InferenceServiceTest, WhatWaitsIsDroppedWithIt) {
  ServiceSettings settings = Lenet(8, {1, 1});
  settings.max_delay = std::chrono::hours(1);
  Open(settings).Submit(Queries(0, 3));
  service_ = nullptr;
  EXPECT_EQ(served_.classes.size(), 0u);
}

// The service's pools have 2 + 1 threads besides this one, and then there are the lanes.
TEST_F(InferenceServiceTest, LanesThatCantBeStartedAreAnErrorWithItsReason) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user of few threads";
  const auto open = [] {
    try {
      InferenceService service(Lenet(1, {2, 2}), [](const ServedBatch&) {});
      service.Pools().Resize({0}, {2, 2});
      service.Begin();
      return 1;
    } catch (const std::system_error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return std::string(error.what()).find(" of the 2 lanes ") != std::string::npos ? 0 : 2;
    }
  };
  EXPECT_EQ(WithFewThreads(5 + kThreadsOfSanitizer, open), 0);
}

}  // namespace
}  // namespace cosched
