#pragma once
// A pipeline whose items are numbers, its answers by request, and a door that calls wait at; for
// tests of Pipeline.

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/gates/pipeline.h"

namespace cosched {

inline std::vector<Payload> Numbers(int first, int count) {
  std::vector<Payload> payloads;
  for (int i = 0; i < count; ++i) payloads.push_back(Payload::Of(first + i, sizeof(int)));
  return payloads;
}

inline std::vector<int> Told(const PipelineResult& result) {
  std::vector<int> numbers;
  for (const Payload& payload : result.answer.payloads) numbers.push_back(payload.As<int>());
  return numbers;
}

// Emits the sum of its batch plus one.
inline StageFactory Adds() {
  return [] {
    return MakeNativeStage([](StageCall& call, int) {
      int sum = 1;
      for (const Item& item : call.Batch().items) sum += item.payload.As<int>();
      call.Emit(Payload::Of(sum, sizeof(int)));
      return false;
    });
  };
}

// What calls wait at until the test lets them go on.
class Door {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    news_.notify_all();
    news_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  void AwaitSomebody() {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return waiting_ > 0; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    news_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  int waiting_ = 0;
  bool open_ = false;
};

class PipelineTest : public ::testing::Test {
 protected:
  Pipeline& Make(const PipelineSpec& spec, std::vector<StageFactory> stages, int inter = 2) {
    pipeline_ = std::make_unique<Pipeline>(
        spec, std::move(stages), PipelineSettings{.capacity = {inter, 2}},
        [this](PipelineResult result) {
          const std::lock_guard lock(mutex_);
          order_.push_back(result.number);
          const int64_t number = result.number;
          EXPECT_TRUE(results_.emplace(number, std::move(result)).second) << number;
          news_.notify_all();
        });
    pipeline_->Pools().Resize(CpuSet::Range(0, 1), {inter, 1});
    pipeline_->Begin();
    return *pipeline_;
  }
  void End() {
    pipeline_->Drain();
    pipeline_->WaitUntilOver();
  }
  void Await(int64_t number) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return results_.contains(number); });
  }
  // Every credit is back and nothing is inside.
  void ExpectEmpty() {
    const PipelineSample sample = pipeline_->Sample();
    EXPECT_EQ(sample.open, 0);
    EXPECT_EQ(sample.waiting, 0);
    for (const PipelineSample::Stage& stage : sample.stages) {
      EXPECT_EQ(stage.items, 0) << stage.name;
      EXPECT_EQ(stage.running, 0) << stage.name;
      EXPECT_EQ(stage.parked, 0) << stage.name;
      EXPECT_EQ(stage.requests, 0) << stage.name;
    }
  }

  std::mutex mutex_;
  std::condition_variable news_;
  std::map<int64_t, PipelineResult> results_;
  std::vector<int64_t> order_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace cosched
