// Our models, cut into parts for a pipeline: what the parts compute one after the other is what the
// whole computes.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/gates/graph_stage.h"
#include "engine/gates/pipeline.h"
#include "engine/graph/optimizer.h"
#include "engine/session/cost.h"
#include "workloads/batch_sizes.h"
#include "workloads/model.h"

namespace cosched {
namespace {

constexpr BatchSlicing kWhole = {.bytes = std::numeric_limits<int64_t>::max()};

// A model for inference, with its nodes fused, for each of a service's batch sizes.
struct FusedModel {
  std::shared_ptr<const ModelInfo> model;
  std::vector<int> sizes;
  std::vector<NetworkEnds> ends;
  Graph graph;

  FusedModel(const std::string& name, int max_batch)
      : model(OpenModel(name)), sizes(BatchSizes(max_batch)) {
    Graph plain;
    GraphBuilder builder(&plain);
    std::vector<std::string> fetches;
    for (const int size : sizes) {
      const std::string input = "images" + std::to_string(size);
      const Output images =
          builder.Placeholder(input, {size, model->image[0], model->image[1], model->image[2]});
      const Output logits = model->build(builder, images, /*training=*/false, /*seed=*/1);
      fetches.push_back(plain.At(logits.node).name + ":" + std::to_string(logits.index));
      ends.push_back({input, fetches.back()});
    }
    OptimizeForInference(plain, fetches, {}, &graph, kWhole);
    graph.Build();
  }

  Tensor Images(int rows, uint64_t seed) const {
    Tensor images({rows, model->image[0], model->image[1], model->image[2]});
    Random random(seed);
    for (int64_t i = 0; i < images.Elements(); ++i)
      images.Floats()[i] = static_cast<float>(random.Uniform() - 0.5);
    return images;
  }
};

void ExpectEqualBits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.GetShape(), b.GetShape());
  EXPECT_EQ(std::memcmp(a.Data(), b.Data(), a.Bytes()), 0);
}

void ExpectClose(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.GetShape(), b.GetShape());
  for (int64_t i = 0; i < a.Elements(); ++i)
    ASSERT_NEAR(a.Floats()[i], b.Floats()[i], 1e-4 * std::max(1.0f, std::abs(a.Floats()[i]))) << i;
}

double CostOf(const Graph& graph) {
  double cost = 0;
  for (const Node& node : graph.Nodes()) {
    if (node.inputs.empty()) continue;
    std::vector<OutputInfo> inputs;
    for (const Output input : node.inputs) inputs.push_back(graph.Info(input));
    cost += EstimateCost(node, inputs);
  }
  return cost;
}

class ModelPartsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ModelPartsTest, PartsGiveTheBitsOfTheWhole) {
  const FusedModel fused(GetParam(), 2);
  Session whole(fused.graph, {.intra_op_parallelism_threads = 2});
  for (const int count : {1, 2, 4}) {
    const std::vector<GraphPart> parts =
        PartitionGraph(fused.graph, fused.ends, count, EstimateCost);
    std::vector<std::unique_ptr<Session>> sessions;
    for (const GraphPart& part : parts) {
      sessions.push_back(
          std::make_unique<Session>(part.graph, SessionOptions{.intra_op_parallelism_threads = 2}));
    }
    for (size_t i = 0; i < fused.sizes.size(); ++i) {
      const Tensor images = fused.Images(fused.sizes[i], i);
      Tensor value = images;
      for (size_t part = 0; part < parts.size(); ++part) {
        const NetworkEnds& ends = parts[part].networks[i];
        value = sessions[part]->Run({{ends.input, value}}, {ends.fetch})[0];
      }
      ExpectEqualBits(value, whole.Run({{fused.ends[i].input, images}}, {fused.ends[i].fetch})[0]);
    }
  }
}

// In slices, sums may be rounded in another order than in the whole.
TEST_P(ModelPartsTest, PartsMayBeSlicedAfterTheCut) {
  const FusedModel fused(GetParam(), 2);
  const size_t last = fused.ends.size() - 1;
  const Tensor images = fused.Images(2, 1);
  Tensor value = images;
  for (const GraphPart& part : PartitionGraph(fused.graph, fused.ends, 2, EstimateCost)) {
    const NetworkEnds& ends = part.networks[last];
    Graph sliced;
    OptimizeForInference(part.graph, {ends.fetch}, {}, &sliced, {.bytes = 1 << 16});
    sliced.Build();
    value = Session(sliced, {}).Run({{ends.input, value}}, {ends.fetch})[0];
  }
  Session whole(fused.graph, {});
  ExpectClose(value, whole.Run({{fused.ends[last].input, images}}, {fused.ends[last].fetch})[0]);
}

TEST_P(ModelPartsTest, NoPartCostsMoreThanBalanceNeeds) {
  const FusedModel fused(GetParam(), 1);
  const double all = CostOf(fused.graph);
  const int most = MostParts(fused.graph, fused.ends);
  // The finest cut shows what no cut can divide.
  double largest = 0;
  for (const GraphPart& part : PartitionGraph(fused.graph, fused.ends, most, EstimateCost))
    largest = std::max(largest, CostOf(part.graph));
  for (const int count : {2, 4}) {
    double sum = 0;
    for (const GraphPart& part : PartitionGraph(fused.graph, fused.ends, count, EstimateCost)) {
      EXPECT_LE(CostOf(part.graph), all / count + largest);
      sum += CostOf(part.graph);
    }
    EXPECT_NEAR(sum, all, 1e-6 * all);
  }
}

TEST_P(ModelPartsTest, MorePartsThanPointsAllowAreRefused) {
  const FusedModel fused(GetParam(), 1);
  const int most = MostParts(fused.graph, fused.ends);
  EXPECT_GE(most, 4);
  EXPECT_NO_THROW(PartitionGraph(fused.graph, fused.ends, most, EstimateCost));
  try {
    PartitionGraph(fused.graph, fused.ends, most + 1, EstimateCost);
    ADD_FAILURE() << "not refused";
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().allowed, "1 to " + std::to_string(most));
  }
}

// Two requests open, cores that come and go.
TEST_P(ModelPartsTest, ThroughAPipelineThatIsResized) {
  constexpr int kRequests = 6, kRows = 3, kParts = 2;
  const FusedModel fused(GetParam(), 2);
  PipelineSpec spec{.open = 2, .open_max = 2};
  std::vector<StageFactory> stages;
  for (GraphPart& cut : PartitionGraph(fused.graph, fused.ends, kParts, EstimateCost)) {
    spec.stages.push_back({.name = "part" + std::to_string(spec.stages.size())});
    stages.push_back([part = std::make_shared<const GraphPart>(std::move(cut))] {
      return MakeGraphStage(part, {}, GraphEmits::kRuns);
    });
  }
  spec.stages.front().from = {.hands = Gate::Hands::kMany, .batch = 2};
  std::mutex mutex;
  std::map<int64_t, PipelineResult> results;
  Pipeline pipeline(spec, std::move(stages), {.capacity = {2, 2}}, [&](PipelineResult result) {
    const std::lock_guard lock(mutex);
    const int64_t number = result.number;
    results.emplace(number, std::move(result));
  });
  pipeline.Begin();
  for (int number = 0; number < kRequests; ++number) {
    PipelineRequest request{.number = number};
    for (int row = 0; row < kRows; ++row) {
      request.items.push_back(
          Payload::Of(fused.Images(1, static_cast<uint64_t>(number * kRows + row)), 1));
    }
    pipeline.Submit(std::move(request));
  }
  pipeline.Drain();
  {
    const std::jthread resizer([&](const std::stop_token& stop) {
      Random random(3);
      while (!stop.stop_requested()) {
        const auto cores = static_cast<int>(random.Below(3));
        pipeline.Pools().Resize(cores == 0 ? CpuSet() : CpuSet::Range(0, cores - 1),
                                {cores, cores});
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      pipeline.Pools().Resize(CpuSet::Range(0, 1), {2, 1});
    });
    pipeline.WaitUntilOver();
  }
  ASSERT_EQ(results.size(), static_cast<size_t>(kRequests));
  Session whole(fused.graph, {.intra_op_parallelism_threads = 2});
  for (auto& [number, result] : results) {
    ASSERT_EQ(result.answer.status, PipelineAnswer::Status::kDone) << result.answer.why;
    ASSERT_EQ(result.answer.payloads.size(), 2u);
    int row = 0;
    for (Payload& payload : result.answer.payloads) {  // Two images, then one.
      const auto& logits = payload.As<Tensor>();
      const auto rows = static_cast<int>(logits.GetShape()[0]);
      Tensor fed = fused.Images(rows, 0);
      for (int i = 0; i < rows; ++i, ++row) {
        const Tensor image = fused.Images(1, static_cast<uint64_t>(number * kRows + row));
        std::memcpy(fed.Floats() + i * image.Elements(), image.Data(), image.Bytes());
      }
      const NetworkEnds& ends = fused.ends[static_cast<size_t>(rows - 1)];
      ExpectEqualBits(logits, whole.Run({{ends.input, fed}}, {ends.fetch})[0]);
    }
    EXPECT_EQ(row, kRows);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelPartsTest,
                         ::testing::Values("lenet5", "resnet20", "mobilenet_v2"));

}  // namespace
}  // namespace cosched
