#include "engine/gates/graph_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/gates/pipeline.h"
#include "engine/graph/graph_builder.h"
#include "engine/session/cost.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSide = 8, kClasses = 5;
constexpr int64_t kSizes[] = {1, 2, 4};

Tensor RandomOf(const Shape& shape, uint64_t seed) {
  Random random(seed);
  Tensor tensor(shape);
  for (int64_t i = 0; i < tensor.Elements(); ++i)
    tensor.Floats()[i] = static_cast<float>(random.Uniform() - 0.5);
  return tensor;
}

Tensor Images(int64_t rows, uint64_t seed) { return RandomOf({rows, kSide, kSide, 3}, seed); }

// A small CNN with a residual, for each of the sizes; of pixels: its result is one row a pixel.
struct SizedCnn {
  Graph graph;
  std::vector<NetworkEnds> ends;

  explicit SizedCnn(bool of_pixels = false) {
    GraphBuilder builder(&graph);
    for (const int64_t size : kSizes) {
      const std::string name = "images" + std::to_string(size);
      const Output images = builder.Placeholder(name, {size, kSide, kSide, 3});
      Output x = Conv(builder, images, "first", 3);
      x = builder.AddV2(Conv(builder, Conv(builder, x, "second", 8), "third", 8), x);
      x = Conv(builder, x, "fourth", 8);
      const bool pooled = !of_pixels;
      if (pooled) x = builder.GlobalAveragePool(x);
      x = builder.Reshape(x, {pooled ? size : size * kSide * kSide, 8});
      const Output logits = builder.MatMul(x, builder.Variable("dense", {8, kClasses}, [] {
        return RandomOf({8, kClasses}, 9);
      }));
      ends.push_back({name, graph.At(logits.node).name});
    }
    graph.Build();
  }
  static Output Conv(GraphBuilder& builder, Output x, const std::string& name, int64_t channels) {
    const Shape shape{3, 3, channels, 8};
    const Output filter =
        builder.Variable(name, shape, [&] { return RandomOf(shape, name.size()); });
    return builder.Relu(builder.Conv2D(x, filter, 1, Padding::kSame));
  }

  std::vector<std::shared_ptr<const GraphPart>> Cut(int parts) const {
    std::vector<std::shared_ptr<const GraphPart>> shared;
    for (GraphPart& part : PartitionGraph(graph, ends, parts, EstimateCost))
      shared.push_back(std::make_shared<GraphPart>(std::move(part)));
    return shared;
  }
};

// Emits into a list; full from so many items on.
class ListedCall : public StageCall {
 public:
  ListedCall(ThreadPools* pools, const std::vector<Tensor>& items) : pools_(pools) {
    for (size_t i = 0; i < items.size(); ++i) {
      batch_.items.push_back({Ordinal(static_cast<int64_t>(i)), Payload::Of(items[i], 1)});
    }
  }
  ItemBatch& Batch() override { return batch_; }
  void Emit(Payload payload) override { emitted.push_back(std::move(payload)); }
  bool Full() const override { return emitted.size() >= full_from; }
  bool Cancelled() const override { return emitted.size() >= cancelled_from; }
  ThreadPools* Pools() override { return pools_; }
  void AddBusy(std::chrono::nanoseconds time) override {
    EXPECT_GT(time.count(), 0);
    ++runs;
  }

  std::vector<Payload> emitted;
  int runs = 0;
  size_t full_from = 1000, cancelled_from = 1000;

 private:
  ThreadPools* pools_;
  ItemBatch batch_;
};

void ExpectSame(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.GetShape(), b.GetShape());
  EXPECT_EQ(std::memcmp(a.Data(), b.Data(), a.Bytes()), 0);
}

Tensor RowsOf(const Tensor& whole, int64_t first, int64_t count) {
  std::vector<int64_t> sizes = whole.GetShape().Sizes();
  sizes[0] = count;
  Tensor rows = Tensor::View(Shape(sizes), whole.Type());
  rows.ViewInto(whole, first * whole.Elements() / whole.GetShape()[0]);
  return rows;
}

class GraphStageTest : public ::testing::Test {
 protected:
  void Open(bool of_pixels = false, GraphEmits emits = GraphEmits::kItems) {
    cnn_ = std::make_unique<SizedCnn>(of_pixels);
    stage_ = MakeGraphStage(cnn_->Cut(1)[0], {}, emits);
    pools_.emplace(Split{1, 2}, ThreadPools::Binding::kNone, nullptr, Waiting{});
    pools_->Resize(CpuSet::Range(0, 1), {1, 2});
  }
  // What the network of this index gives, rows that lack being zeros.
  Tensor Expected(size_t network, const Tensor& images) {
    Session session(cnn_->graph, {.intra_op_parallelism_threads = 2});
    Tensor fed({kSizes[network], kSide, kSide, 3});
    std::fill_n(fed.Floats(), fed.Elements(), 0.0f);
    std::memcpy(fed.Data(), images.Data(), images.Bytes());
    return session.Run({{cnn_->ends[network].input, fed}}, {cnn_->ends[network].fetch})[0];
  }
  std::string Thrown(ListedCall& call) {
    try {
      stage_->Run(call);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  std::unique_ptr<SizedCnn> cnn_;
  std::unique_ptr<Stage> stage_;  // Outlives the pools.
  std::optional<ThreadPools> pools_;
};

TEST_F(GraphStageTest, ItemsOfABatchShareARunThatIsPadded) {
  Open();
  const Tensor all = Images(3, 1);
  ListedCall call(&*pools_, {RowsOf(all, 0, 1), RowsOf(all, 1, 1), RowsOf(all, 2, 1)});
  EXPECT_FALSE(stage_->Run(call));
  EXPECT_EQ(call.runs, 1);
  ASSERT_EQ(call.emitted.size(), 3u);
  const Tensor expected = Expected(2, all);
  for (int row = 0; row < 3; ++row) {
    Payload& item = call.emitted[static_cast<size_t>(row)];
    ExpectSame(item.As<Tensor>(), RowsOf(expected, row, 1));
    EXPECT_EQ(item.Bytes(), static_cast<int64_t>(kClasses * sizeof(float)));
  }
}

TEST_F(GraphStageTest, ARunOfOneItemTakesTheSmallestNetworkThatHoldsIt) {
  Open();
  for (const int64_t rows : {1, 2, 3, 4}) {
    const Tensor images = Images(rows, 7);
    ListedCall call(&*pools_, {images});
    EXPECT_FALSE(stage_->Run(call));
    ASSERT_EQ(call.emitted.size(), 1u);
    const size_t network = rows < 3 ? static_cast<size_t>(rows - 1) : 2;
    ExpectSame(call.emitted[0].As<Tensor>(), RowsOf(Expected(network, images), 0, rows));
  }
}

TEST_F(GraphStageTest, ItemsMayHaveSeveralRowsAndComeBackWithAsMany) {
  Open();
  ListedCall call(&*pools_, {Images(1, 1), Images(2, 2), Images(2, 3)});
  EXPECT_FALSE(stage_->Run(call));
  EXPECT_EQ(call.runs, 2);  // Three rows, then two.
  std::vector<int64_t> rows;
  for (Payload& item : call.emitted) rows.push_back(item.As<Tensor>().GetShape()[0]);
  EXPECT_THAT(rows, ElementsAre(1, 2, 2));
  ExpectSame(call.emitted[2].As<Tensor>(), Expected(1, Images(2, 3)));
}

TEST_F(GraphStageTest, AsRunsARunIsAnItem) {
  Open(/*of_pixels=*/false, GraphEmits::kRuns);
  const Tensor all = Images(3, 1);
  ListedCall call(&*pools_, {RowsOf(all, 0, 1), RowsOf(all, 1, 2)});
  EXPECT_FALSE(stage_->Run(call));
  ASSERT_EQ(call.emitted.size(), 1u);
  ExpectSame(call.emitted[0].As<Tensor>(), RowsOf(Expected(2, all), 0, 3));
  EXPECT_EQ(call.emitted[0].Bytes(), static_cast<int64_t>(4 * kClasses * sizeof(float)));
}

TEST_F(GraphStageTest, AResultOfSeveralRowsAnImageIsCutByImages) {
  Open(/*of_pixels=*/true);
  const Tensor all = Images(2, 1);
  ListedCall call(&*pools_, {RowsOf(all, 0, 1), RowsOf(all, 1, 1)});
  EXPECT_FALSE(stage_->Run(call));
  ASSERT_EQ(call.emitted.size(), 2u);
  ExpectSame(call.emitted[1].As<Tensor>(), RowsOf(Expected(1, all), kSide * kSide, kSide * kSide));
}

TEST_F(GraphStageTest, ItGoesOnWhereItStoppedForWantOfRoom) {
  Open();
  const Tensor all = Images(12, 1);
  std::vector<Tensor> items;
  for (int64_t row = 0; row < 12; ++row) items.push_back(RowsOf(all, row, 1));
  ListedCall call(&*pools_, items);
  call.full_from = 4;
  EXPECT_TRUE(stage_->Run(call));
  EXPECT_EQ(call.runs, 1);
  call.full_from = 1000;
  EXPECT_FALSE(stage_->Run(call));
  EXPECT_EQ(call.runs, 3);
  ASSERT_EQ(call.emitted.size(), 12u);
  ExpectSame(call.emitted[11].As<Tensor>(), RowsOf(Expected(2, RowsOf(all, 8, 4)), 3, 1));
}

TEST_F(GraphStageTest, WhatIsCancelledRunsNoFurther) {
  Open();
  ListedCall call(&*pools_, {Images(4, 1), Images(4, 2)});
  call.cancelled_from = 1;
  EXPECT_FALSE(stage_->Run(call));
  EXPECT_EQ(call.runs, 1);
  // The next call begins with its first item.
  ListedCall next(&*pools_, {Images(4, 1), Images(4, 2)});
  EXPECT_FALSE(stage_->Run(next));
  EXPECT_EQ(next.runs, 2);
}

TEST_F(GraphStageTest, ItemsThatDoNotFitAreRefused) {
  Open();
  ListedCall large(&*pools_, {Images(5, 1)});
  EXPECT_THAT(Thrown(large), HasSubstr("[5,8,8,3]"));
  ListedCall other(&*pools_, {RandomOf({1, kSide, kSide, 4}, 1)});
  EXPECT_THAT(Thrown(other), HasSubstr("allowed: float[4,8,8,3]"));
  ListedCall integers(&*pools_, {Tensor({1, kSide, kSide, 3}, DataType::kInt32)});
  EXPECT_THAT(Thrown(integers), HasSubstr("int32[1,8,8,3]"));
  ListedCall empty(&*pools_, {Tensor()});
  EXPECT_THAT(Thrown(empty), HasSubstr("an empty tensor"));
  ListedCall none(&*pools_, {});
  EXPECT_FALSE(stage_->Run(none));
  EXPECT_TRUE(none.emitted.empty());
}

TEST(GraphStageOfPartsTest, AResultThatIsNoRowsIsRefused) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output mean = builder.MeanAll(builder.Placeholder("images", {2, 3}));
  auto part = std::make_shared<GraphPart>(
      std::move(PartitionGraph(graph, {{"images", graph.At(mean.node).name}}, 1, EstimateCost)[0]));
  EXPECT_THROW(MakeGraphStage(part, {}, GraphEmits::kItems), InputError);
}

// Resizes a pipeline at random, to no core at all, too, until it is destroyed.
class PipelineResizer {
 public:
  explicit PipelineResizer(ThreadPools* pools)
      : thread_([this, pools](const std::stop_token& stop) {
          Random random(5);
          while (!stop.stop_requested()) {
            const auto cores = static_cast<int>(random.Below(3));
            const int inter = 1 + static_cast<int>(random.Below(2));
            pools->Resize(cores == 0 ? CpuSet() : CpuSet::Range(0, cores - 1),
                          cores == 0 ? Split{0, 0} : Split{inter, cores});
            ++resizes;
            std::this_thread::sleep_for(std::chrono::microseconds(random.Below(500)));
          }
          pools->Resize(CpuSet::Range(0, 0), {1, 1});
        }) {}
  std::atomic<int> resizes = 0;

 private:
  std::jthread thread_;
};

class GraphPipelineTest : public ::testing::TestWithParam<int> {
 protected:
  // The first part takes batches of up to four, which the others take as they are. One part gives
  // its items one by one.
  void Open(int parts) {
    PipelineSpec spec{.open = 2, .open_max = 2};
    std::vector<StageFactory> stages;
    const bool one = parts == 1;
    for (const std::shared_ptr<const GraphPart>& part : cnn_.Cut(parts)) {
      StageSpec stage{.name = "part" + std::to_string(spec.stages.size()), .emits_many = one};
      if (spec.stages.empty()) stage.from = {.hands = Gate::Hands::kMany, .batch = 4};
      spec.stages.push_back(stage);
      stages.push_back([part, one] {
        return MakeGraphStage(part, {}, one ? GraphEmits::kItems : GraphEmits::kRuns);
      });
    }
    pipeline_ = std::make_unique<Pipeline>(
        spec, std::move(stages), PipelineSettings{.capacity = {2, 2}},
        [this](PipelineResult result) {
          const std::lock_guard lock(mutex_);
          EXPECT_EQ(result.answer.status, PipelineAnswer::Status::kDone) << result.answer.why;
          const int64_t number = result.number;
          EXPECT_TRUE(results_.emplace(number, std::move(result)).second);
          news_.notify_all();
        });
    pipeline_->Begin();
  }
  static Tensor ImagesOf(int64_t request) {
    return Images(1 + request % 7, static_cast<uint64_t>(request));
  }
  void Submit(int64_t request) {
    const Tensor images = ImagesOf(request);
    PipelineRequest items{.number = request};
    for (int64_t row = 0; row < images.GetShape()[0]; ++row)
      items.items.push_back(Payload::Of(RowsOf(images, row, 1), 1));
    pipeline_->Submit(std::move(items));
  }
  void Await(size_t answers) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return results_.size() >= answers; });
  }
  // What the uncut network gives for the batches that the first gate makes of a request.
  Tensor Expected(Session* session, int64_t request) {
    const Tensor images = ImagesOf(request);
    const int64_t all = images.GetShape()[0];
    Tensor logits({all, kClasses});
    for (int64_t first = 0; first < all; first += 4) {
      const int64_t rows = std::min<int64_t>(4, all - first);
      const size_t network = rows < 3 ? static_cast<size_t>(rows - 1) : 2;
      Tensor fed({kSizes[network], kSide, kSide, 3});
      std::fill_n(fed.Floats(), fed.Elements(), 0.0f);
      const Tensor part = RowsOf(images, first, rows);
      std::memcpy(fed.Data(), part.Data(), part.Bytes());
      const Tensor result =
          session->Run({{cnn_.ends[network].input, fed}}, {cnn_.ends[network].fetch})[0];
      std::memcpy(logits.Floats() + first * kClasses, result.Data(),
                  static_cast<size_t>(rows * kClasses) * sizeof(float));
    }
    return logits;
  }

  const SizedCnn cnn_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::map<int64_t, PipelineResult> results_;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_P(GraphPipelineTest, ResizedAtRandomItGivesTheBitsOfTheUncutNetwork) {
  Open(GetParam());
  size_t requests = 0;
  {
    const PipelineResizer resizer(&pipeline_->Pools());
    while (requests < 40 || resizer.resizes < 200) {
      Submit(static_cast<int64_t>(requests++));
      if (requests > 8) Await(requests - 8);
    }
  }
  pipeline_->Drain();
  pipeline_->WaitUntilOver();
  ASSERT_EQ(results_.size(), requests);
  Session session(cnn_.graph, {.intra_op_parallelism_threads = 2});
  for (auto& [number, result] : results_) {
    const Tensor expected = Expected(&session, number);
    int64_t first = 0;
    for (Payload& payload : result.answer.payloads) {
      const auto& logits = payload.As<Tensor>();
      const int64_t rows = logits.GetShape()[0];
      ExpectSame(logits, RowsOf(expected, first, rows));
      first += rows;
    }
    EXPECT_EQ(first, expected.GetShape()[0]);
  }
  const PipelineSample sample = pipeline_->Sample();
  for (const PipelineSample::Stage& stage : sample.stages) {
    EXPECT_GT(stage.busy.count(), 0) << stage.name;
    EXPECT_EQ(stage.requests, 0) << stage.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, GraphPipelineTest, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace cosched
