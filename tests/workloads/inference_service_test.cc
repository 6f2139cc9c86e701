// A real model that answers: every request once, the right class whatever its batch and padding,
// while the pools are resized and paused.

#include "workloads/inference_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "tests/workloads/expect_input_error.h"
#include "workloads/training_job.h"

namespace cosched {
namespace {

ServiceSettings Lenet(int max_batch, Split capacity) {
  ServiceSettings settings;
  settings.model = "lenet5";
  settings.max_batch = max_batch;
  settings.session.inter_op_parallelism_threads = capacity.inter;
  settings.session.intra_op_parallelism_threads = capacity.intra;
  settings.cores = {0};
  settings.threads = capacity;
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
  void Begin(int count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    begun += count;
  }
  size_t Count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return classes.size();
  }

  std::map<uint64_t, int> classes;  // By number.
  std::vector<size_t> sizes;
  int begun = 0;
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
        settings, [this](int count) { served_.Begin(count); },
        [this](const ServedBatch& batch) { served_.Add(batch); });
    return *service_;
  }
  void Close() {
    service_->Drain();
    service_->WaitUntilOver();
    EXPECT_TRUE(served_.in_order);
    EXPECT_FALSE(served_.twice);
    EXPECT_EQ(static_cast<size_t>(served_.begun), served_.classes.size());
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
  served_.begun = 0;
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
  for (int round = 0; round < kRounds; ++round) {
    service.Submit(Queries(next, kEach));
    next += kEach;
    service.Pools().Resize({0}, round % 2 == 0 ? Split{1, 1} : Split{2, 2});
    std::this_thread::yield();
  }
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

TEST_F(InferenceServiceTest, WhatWaitsIsDroppedWithIt) {
  ServiceSettings settings = Lenet(8, {1, 1});
  settings.max_delay = std::chrono::hours(1);
  Open(settings).Submit(Queries(0, 3));
  service_ = nullptr;
  EXPECT_EQ(served_.classes.size(), 0u);
}

}  // namespace
}  // namespace cosched
