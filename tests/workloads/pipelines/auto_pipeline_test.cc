#include "workloads/pipelines/auto_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/topology.h"
#include "workloads/pipelines/increment.h"

namespace cosched {
namespace {

constexpr int kMostOpen = 4;

// Stages that wait, and six clients that ask as soon as they are answered.
class AskedWithoutEnd {
 public:
  AskedWithoutEnd()
      : program_(MakeIncrement({.open = {CreditLink::kEndToEnd, 1, kMostOpen},
                                .stages = kMostOpen,
                                .items = 1,
                                .wait = std::chrono::milliseconds(2)})),
        pipeline_(program_.spec, program_.stages, {.capacity = {2, 2}, .topology = &topology_},
                  [this](const PipelineResult& result) { Answered(result); }) {
    pipeline_.Pools().Resize(topology_.Cpus().Lowest(1), {1, 1});
  }

  // Until so many requests were answered. Returns the open requests at each answer.
  std::vector<int> Run(int64_t requests) {
    left_ = requests;
    for (int client = 0; client < 6; ++client) Ask();
    pipeline_.Begin();
    pipeline_.WaitUntilOver();
    return open_;
  }
  Pipeline& pipeline() { return pipeline_; }

 private:
  void Ask() {
    const std::lock_guard lock(mutex_);
    if (left_ == 0) return;
    pipeline_.Submit({.number = --left_, .items = program_.items(0, 1)});
    if (left_ == 0) pipeline_.Drain();
  }
  void Answered(const PipelineResult& result) {
    const int open = pipeline_.Sample().open_requests;
    Ask();
    {
      const std::lock_guard lock(recording_);
      open_.push_back(open);
    }
    auto_.Answered(result, open);
  }

  const Topology topology_ = Topology::Synthetic("pack:1 core:2 pu:1");
  const PipelineProgram program_;
  std::mutex mutex_, recording_;
  int64_t left_ = 0;
  std::vector<int> open_;
  Pipeline pipeline_;
  AutoPipeline auto_{&pipeline_, kMostOpen};
};

// Which one is best a clock of its own tells (pipeline_chooser_test.cc).
TEST(AutoPipelineTest, OpenRequestsAreTriedAndOneNumberOfThemStays) {
  AskedWithoutEnd asked;
  const std::vector<int> open = asked.Run(1500);
  for (const int tried : {1, 2, kMostOpen}) EXPECT_GT(std::ranges::count(open, tried), 0) << tried;
  EXPECT_EQ(std::vector<int>(open.end() - 100, open.end()), std::vector<int>(100, open.back()));
}

TEST(AutoPipelineTest, RequestsThatFailTellNothing) {
  const Topology topology = Topology::Synthetic("pack:1 core:1 pu:1");
  Pipeline pipeline({.stages = {{.name = "none"}}, .open = 1, .open_max = kMostOpen},
                    {[] { return MakeNativeStage([](StageCall&, int) { return false; }); }},
                    {.topology = &topology}, [](const PipelineResult&) {});
  pipeline.Pools().Resize(topology.Cpus(), {1, 1});
  AutoPipeline chooses(&pipeline, kMostOpen);
  PipelineResult failed;
  failed.answer.status = PipelineAnswer::Status::kFailed;
  failed.ended = std::chrono::steady_clock::now() + std::chrono::hours(1);  // After all changes.
  for (int i = 0; i < 1000; ++i) {
    failed.admitted = failed.ended;
    failed.ended += std::chrono::seconds(1);  // So long that one step of them would end a visit.
    chooses.Answered(failed, pipeline.Sample().open_requests);
    ASSERT_EQ(pipeline.Sample().open_requests, 1) << "no longer the first that is tried";
  }
}

TEST(AutoPipelineTest, WhatOthersAskForDoesNotLast) {
  AskedWithoutEnd asked;
  asked.pipeline().Pools().Resize({.inter = 2, .intra = 2, .cause = "grant"});
  asked.Run(100);
  EXPECT_EQ(asked.pipeline().Pools().Wanted().split,
            (Split{1, 1}));  // One core: nothing else is tried.
}

}  // namespace
}  // namespace cosched
