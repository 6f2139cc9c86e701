// Names, inputs and the order of writes: what a graph accepts and what it refuses.

#include "engine/graph/graph.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/graph/write_order.h"

namespace cosched {
namespace {

using Ints = std::vector<int64_t>;

class GraphTest : public ::testing::Test {
 protected:
  NodeId Placeholder(const std::string& name) {
    return graph_.Add("Placeholder", name, {}, {{"shape", Ints{2}}});
  }
  NodeId Variable(const std::string& name) {
    return graph_.Add("VariableV2", name, {}, {{"initial", Tensor({2})}});
  }
  NodeId Average(const std::string& name, NodeId variable, NodeId value) {
    return graph_.Add("AssignMovingAverage", name, {{variable}, {value}}, {{"decay", 0.5f}});
  }
  template <typename Function>
  static std::string ErrorOf(Function function) {
    try {
      function();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  Graph graph_;
};

TEST_F(GraphTest, FindsNodesByName) {
  const NodeId x = Placeholder("x");
  EXPECT_EQ(graph_.Find("x"), x);
  EXPECT_EQ(graph_.Find("y"), -1);
}

TEST_F(GraphTest, UnnamedNodesAreNumberedByOp) {
  Placeholder("x");
  const NodeId taken = graph_.Add("Relu", "Relu_1", {{0}});
  EXPECT_EQ(graph_.At(graph_.Add("Relu", "", {{0}})).name, "Relu");
  EXPECT_EQ(graph_.At(graph_.Add("Relu", "", {{0}})).name, "Relu_2");
  EXPECT_EQ(graph_.At(graph_.Add("Relu", "", {{0}})).name, "Relu_3");
  EXPECT_EQ(graph_.Find("Relu_1"), taken);
}

TEST_F(GraphTest, RefusesATakenName) {
  Placeholder("x");
  EXPECT_EQ(ErrorOf([&] { Placeholder("x"); }),
            "node \"x\" (Placeholder): the name is taken; allowed: unique names");
  EXPECT_EQ(graph_.Size(), 1);
}

TEST_F(GraphTest, RefusesWhatDoesNotExist) {
  Placeholder("x");
  EXPECT_EQ(ErrorOf([&] { graph_.Add("Sin", "s", {{0}}); }),
            "node \"s\" (Sin): unknown op; allowed: the ops of engine/graph/ops.md");
  EXPECT_EQ(ErrorOf([&] { graph_.Add("Relu", "r", {{7}}); }),
            "node \"r\" (Relu): input 7 does not exist");
  EXPECT_EQ(ErrorOf([&] {
              graph_.Add("Relu", "r", {{0, 1}});
            }),
            "node \"r\" (Relu): \"x\" has no output 1");
  EXPECT_EQ(ErrorOf([&] { graph_.Add("NoOp", "n", {}, {}, {3}); }),
            "node \"n\" (NoOp): control input 3 does not exist");
  EXPECT_EQ(ErrorOf([&] {
              graph_.Add("Placeholder", "p", {}, {{"shape", Ints{1}}}, {0});
            }),
            "node \"p\" (Placeholder): has control inputs, but its value exists before the run "
            "starts");
}

TEST_F(GraphTest, BuildFreezes) {
  Placeholder("x");
  graph_.Build();
  EXPECT_TRUE(graph_.IsBuilt());
  EXPECT_DEATH(Placeholder("y"), "built already");
}

TEST_F(GraphTest, WritersComeAfterEveryReaderOfTheirVariable) {
  const NodeId v = Variable("v");
  const NodeId x = Placeholder("x");
  const NodeId writer = Average("update", v, x);
  const NodeId view = graph_.Add("Reshape", "view", {{v}}, {{"shape", Ints{2, 1}}});
  const NodeId late = graph_.Add("Relu", "late", {{view}});
  graph_.Add("Relu", "unrelated", {{x}});
  graph_.Build();
  using Order = std::vector<std::pair<NodeId, NodeId>>;
  EXPECT_EQ(WriteOrder(graph_), (Order{{late, writer}}));
}

TEST_F(GraphTest, RefusesTwoWritersOfAVariable) {
  const NodeId v = Variable("v");
  Average("first", v, Placeholder("x"));
  Average("second", v, Placeholder("y"));
  EXPECT_EQ(ErrorOf([&] { graph_.Build(); }),
            "node \"second\" (AssignMovingAverage): writes variable \"v\", as does \"first\"; "
            "allowed: one writer a variable");
}

TEST_F(GraphTest, RefusesAReaderOfTheOldValueThatNeedsTheNewOne) {
  const NodeId v = Variable("v");
  const NodeId writer = Average("update", v, Placeholder("x"));
  graph_.Add("AddV2", "both", {{v}, {writer}});
  EXPECT_EQ(ErrorOf([&] { graph_.Build(); }),
            "node \"update\" (AssignMovingAverage): writes a variable whose old value is read by a "
            "node that depends on this one");
}

}  // namespace
}  // namespace cosched
