// What GraphBuilder adds to Graph::Add: variables of one name are one variable.

#include "engine/graph/graph_builder.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace cosched {
namespace {

TEST(GraphBuilderTest, AVariableOfTheSameNameIsTheSame) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output first = builder.Variable("w", {2}, [] { return Tensor(Shape{2}); });
  bool made = false;
  const Output again = builder.Variable("w", {2}, [&made] {
    made = true;
    return Tensor(Shape{2});
  });
  EXPECT_EQ(first, again);
  EXPECT_FALSE(made);
  EXPECT_EQ(builder.TrainableVariables().size(), 1U);
  const Output mean = builder.UntrainableVariable("mean", Tensor(Shape{3}));
  EXPECT_EQ(builder.UntrainableVariable("mean", Tensor(Shape{3})), mean);
  EXPECT_EQ(builder.TrainableVariables().size(), 1U);
  EXPECT_EQ(graph.Size(), 2);
  const GraphBuilder::Scope scope(&builder, "other");
  EXPECT_NE(builder.Variable("w", Tensor(Shape{2})), first);
}

TEST(GraphBuilderTest, AnotherBuilderOfTheGraphTrainsTheVariableToo) {
  Graph graph;
  const Output first = GraphBuilder(&graph).Variable("w", Tensor(Shape{2}));
  GraphBuilder second(&graph);
  EXPECT_EQ(second.Variable("w", Tensor(Shape{2})), first);
  EXPECT_EQ(second.TrainableVariables(), std::vector<Output>{first});
}

TEST(GraphBuilderTest, ANameCannotStandForTwoShapes) {
  Graph graph;
  GraphBuilder builder(&graph);
  builder.Variable("w", Tensor(Shape{2}));
  EXPECT_THROW(builder.Variable("w", Tensor(Shape{3})), InputError);
  builder.Placeholder("x", {2});
  EXPECT_THROW(builder.Variable("x", Tensor(Shape{2})), InputError);
}

}  // namespace
}  // namespace cosched
