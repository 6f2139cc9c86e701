#include "engine/graph/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/base/error.h"
#include "engine/graph/graph_builder.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kWidth = 4;

// Products cost what the test says, by name; all else nothing.
NodeCost CostsOf(std::map<std::string, double> costs) {
  return [costs = std::move(costs)](const Node& node, const std::vector<OutputInfo>&) {
    const auto found = costs.find(node.name);
    return found == costs.end() ? 0.0 : found->second;
  };
}

const NodeCost kEqual = [](const Node&, const std::vector<OutputInfo>&) { return 1.0; };

struct Chain {
  Graph graph;
  GraphBuilder builder{&graph};

  Output Images(const std::string& name, int64_t batch) {
    return builder.Placeholder(name, {batch, kWidth});
  }
  // Reads weights that are there once, however often it is called.
  Output Product(Output x, const std::string& name) {
    const Output weights = builder.Variable("weights", {kWidth, kWidth}, [] {
      return Tensor(Shape{kWidth, kWidth});
    });
    return {
        graph.Add("MatMul", name, {x, weights}, {{"transpose_a", false}, {"transpose_b", false}})};
  }
  Output Relu(Output x, const std::string& name) { return {graph.Add("Relu", name, {x})}; }
};

std::vector<std::string> NamesWithoutSources(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.Nodes()) {
    if (!node.inputs.empty()) names.push_back(node.name);
  }
  return names;
}

std::vector<NetworkEnds> Ends(const std::string& fetch) { return {{"images", fetch}}; }

std::string Problem(const Graph& graph, const std::vector<NetworkEnds>& networks, int parts) {
  try {
    PartitionGraph(graph, networks, parts, kEqual);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(PartitionTest, TheCostliestPartCostsAsLittleAsItCan) {
  Chain chain;
  Output x = chain.Images("images", 2);
  for (const char* name : {"a", "b", "c", "d", "e"}) x = chain.Product(x, name);
  const NodeCost costs = CostsOf({{"a", 1}, {"b", 5}, {"c", 1}, {"d", 3}, {"e", 3}});
  const std::vector<GraphPart> parts = PartitionGraph(chain.graph, Ends("e"), 3, costs);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(NamesWithoutSources(parts[0].graph), ElementsAre("a", "b"));
  EXPECT_THAT(NamesWithoutSources(parts[1].graph), ElementsAre("c", "d"));
  EXPECT_THAT(NamesWithoutSources(parts[2].graph), ElementsAre("e"));
  EXPECT_EQ(parts[0].networks[0].input, "images");
  EXPECT_EQ(parts[0].networks[0].fetch, "b:0");
  EXPECT_EQ(parts[1].networks[0].input, "b");
  EXPECT_EQ(parts[2].networks[0].fetch, "e:0");
  EXPECT_TRUE(parts[2].graph.IsBuilt());
}

// Evener parts (4+5, 5+5, 9+6) would have a costlier one.
TEST(PartitionTest, TheCostliestPartCountsBeforeHowEvenPartsAre) {
  Chain chain;
  Output x = chain.Images("images", 2);
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) x = chain.Product(x, name);
  const NodeCost costs = CostsOf({{"a", 4}, {"b", 5}, {"c", 5}, {"d", 5}, {"e", 9}, {"f", 6}});
  const std::vector<GraphPart> parts = PartitionGraph(chain.graph, Ends("f"), 3, costs);
  EXPECT_THAT(NamesWithoutSources(parts[0].graph), ElementsAre("a", "b", "c"));
  EXPECT_THAT(NamesWithoutSources(parts[1].graph), ElementsAre("d", "e"));
}

TEST(PartitionTest, OnePartIsTheNetworkWithoutWhatTheFetchDoesNotNeed) {
  Chain chain;
  const Output x = chain.Product(chain.Images("images", 2), "a");
  chain.Relu(x, "unused");
  chain.Relu(x, "logits");
  const std::vector<GraphPart> parts = PartitionGraph(chain.graph, Ends("logits"), 1, kEqual);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_THAT(NamesWithoutSources(parts[0].graph), ElementsAre("a", "logits"));
}

TEST(PartitionTest, NoCutGoesThroughBranches) {
  Chain chain;
  const Output a = chain.Product(chain.Images("images", 2), "a");
  const Output left = chain.Product(a, "left");
  const Output right = chain.Product(a, "right");
  chain.Product(chain.builder.AddV2(left, right), "e");
  // Behind a and behind the sum.
  EXPECT_EQ(MostParts(chain.graph, Ends("e")), 3);
  const std::vector<GraphPart> parts = PartitionGraph(chain.graph, Ends("e"), 3, kEqual);
  EXPECT_THAT(NamesWithoutSources(parts[1].graph), ElementsAre("left", "right", "AddV2"));
  EXPECT_THAT(Problem(chain.graph, Ends("e"), 4), HasSubstr("allowed: 1 to 3"));
  EXPECT_THAT(Problem(chain.graph, Ends("e"), 0), HasSubstr("allowed: 1 to 3"));
}

TEST(PartitionTest, AResidualOfTheInputKeepsItAlive) {
  Chain chain;
  const Output images = chain.Images("images", 2);
  const Output b = chain.Product(chain.Product(images, "a"), "b");
  chain.Relu(chain.builder.AddV2(b, images), "logits");
  EXPECT_EQ(MostParts(chain.graph, Ends("logits")), 2);  // Behind the sum.
}

TEST(PartitionTest, TwoOutputsOfANodeAreNoSingleTensor) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output logits = builder.Placeholder("images", {2, 3});
  const Output labels = builder.Const("labels", Tensor({2}, DataType::kInt32));
  const NodeId both = builder.SparseSoftmaxCrossEntropyWithLogits(logits, labels);
  const Output losses = builder.Reshape({both, 0}, {2, 1});
  const Output sum = builder.AddV2(losses, {both, 1});
  const std::string fetch = graph.At(builder.Relu(sum).node).name;
  EXPECT_EQ(MostParts(graph, Ends(fetch)), 2);  // Behind the sum.
}

TEST(PartitionTest, TheSecondOutputOfANodeCanBeTheInputOfAPart) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output logits = builder.Placeholder("images", {2, 3});
  const Output labels = builder.Const("labels", Tensor({2}, DataType::kInt32));
  const NodeId both = builder.SparseSoftmaxCrossEntropyWithLogits(logits, labels);
  const std::string fetch = graph.At(builder.Relu({both, 1}).node).name;
  const std::vector<GraphPart> parts = PartitionGraph(graph, Ends(fetch), 2, kEqual);
  EXPECT_EQ(parts[0].networks[0].fetch, graph.At(both).name + ":1");
  const Graph& last = parts[1].graph;
  EXPECT_EQ(last.Info({last.Find(parts[1].networks[0].input), 0}).shape, (Shape{2, 3}));
}

TEST(PartitionTest, ATensorWhoseRowsAreNoImagesIsNoPoint) {
  Chain chain;
  const Output a = chain.Product(chain.Images("images", 2), "a");
  const Output halves = chain.Relu(chain.builder.Reshape(a, {4, kWidth / 2}), "halves");
  chain.Product(chain.builder.Reshape(halves, {2, kWidth}), "logits");
  // Behind a and behind the second Reshape.
  EXPECT_EQ(MostParts(chain.graph, Ends("logits")), 3);
}

TEST(PartitionTest, AnOrderBetweenNodesIsNotCut) {
  Chain chain;
  const Output a = chain.Product(chain.Images("images", 2), "a");
  const Output b = chain.Product(a, "b");
  const NodeId c = chain.graph.Add("Relu", "c", {b}, {}, {a.node});
  chain.Relu({c}, "logits");
  EXPECT_EQ(MostParts(chain.graph, Ends("logits")), 2);  // Behind c.
}

const Tensor& WeightsOf(const Graph& graph) {
  return GetAttribute<Tensor>(graph.At(graph.Find("weights")), "initial");
}

TEST(PartitionTest, PartsAndNetworksShareWeights) {
  Chain chain;
  for (const int64_t batch : {1, 8}) {
    const std::string size = std::to_string(batch);
    const Output a = chain.Product(chain.Images("images" + size, batch), "a" + size);
    chain.Product(a, "b" + size);
  }
  const std::vector<GraphPart> parts =
      PartitionGraph(chain.graph, {{"images1", "b1"}, {"images8", "b8"}}, 2, kEqual);
  for (const GraphPart& part : parts) {
    EXPECT_EQ(WeightsOf(part.graph).Data(), WeightsOf(chain.graph).Data());
    EXPECT_EQ(part.graph.Size(), 5);  // Weights, two placeholders, two products.
    EXPECT_EQ(part.networks.size(), 2u);
  }
  EXPECT_EQ(parts[1].networks[1].input, "a8");
}

TEST(PartitionTest, NetworksThatDifferInMoreThanTheirBatchAreRefused) {
  Chain chain;
  chain.Product(chain.Product(chain.Images("images1", 1), "a1"), "b1");
  chain.Product(chain.Relu(chain.Images("images8", 8), "a8"), "b8");
  EXPECT_THAT(Problem(chain.graph, {{"images1", "b1"}, {"images8", "b8"}}, 2),
              HasSubstr("at other points"));
}

TEST(PartitionTest, EndsThatAreNoEndsAreRefused) {
  Chain chain;
  const Output a = chain.Product(chain.Images("images", 2), "a");
  const Output more = chain.Relu(chain.Images("more", 2), "of_more");
  chain.graph.Add("AddV2", "sum", {a, more});
  EXPECT_THAT(Problem(chain.graph, {{"a", "sum"}}, 1), HasSubstr("no such placeholder"));
  EXPECT_THAT(Problem(chain.graph, Ends("sum"), 1), HasSubstr("placeholder \"more\""));
  EXPECT_THAT(Problem(chain.graph, Ends("of_more"), 1), HasSubstr("\"more\""));
  EXPECT_THAT(Problem(chain.graph, Ends("weights"), 1), HasSubstr("does not follow"));
  EXPECT_THAT(Problem(chain.graph, Ends("images"), 1), HasSubstr("does not follow"));
  EXPECT_THAT(Problem(chain.graph, Ends("nothing"), 1), HasSubstr("no such node"));
}

}  // namespace
}  // namespace cosched
