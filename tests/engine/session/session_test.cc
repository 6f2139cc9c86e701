// Feeds, fetches, variables and their order of writing, on both backends.

#include "engine/session/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/base/error.h"
#include "engine/graph/graph_builder.h"
#include "engine/graph/ops.h"

namespace cosched {
namespace {

Tensor Values(const std::vector<float>& values) {
  return Tensor::Of({static_cast<int64_t>(values.size())}, std::span<const float>(values));
}

std::vector<float> FloatsOf(const Tensor& tensor) {
  return {tensor.Floats(), tensor.Floats() + tensor.Elements()};
}

using Floats = std::vector<float>;

class SessionTest : public ::testing::TestWithParam<KernelBackend> {
 protected:
  Session& Start() {
    graph_.Build();
    session_ = std::make_unique<Session>(graph_, SessionOptions{.backend = GetParam()});
    return *session_;
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
  GraphBuilder builder_{&graph_};
  std::unique_ptr<Session> session_;
};

INSTANTIATE_TEST_SUITE_P(Backends, SessionTest,
                         ::testing::Values(KernelBackend::kReference, KernelBackend::kFast),
                         [](const auto& info) {
                           return info.param == KernelBackend::kFast ? "Fast" : "Reference";
                         });

TEST_P(SessionTest, RunsWhatTheFetchesNeed) {
  const Output x = builder_.Placeholder("x", {3});
  builder_.Placeholder("unused", {3});
  const Output y = builder_.Relu(x);
  builder_.AddV2(y, y);
  Session& session = Start();
  EXPECT_EQ(FloatsOf(session.Run({{"x", Values({-1, 2, 3})}}, {"AddV2"})[0]), (Floats{0, 4, 6}));
  const std::vector<Tensor> both = session.Run({{"x", Values({5, 5, -5})}}, {"Relu:0", "x"});
  EXPECT_EQ(FloatsOf(both[0]), (Floats{5, 5, 0}));
  EXPECT_EQ(FloatsOf(both[1]), (Floats{5, 5, -5}));
}

TEST_P(SessionTest, FetchedValuesStayWhenTheNextRunOverwritesThem) {
  builder_.Relu(builder_.Placeholder("x", {1}));
  Session& session = Start();
  const Tensor first = session.Run({{"x", Values({1})}}, {"Relu"})[0];
  session.Run({{"x", Values({2})}}, {"Relu"});
  EXPECT_EQ(FloatsOf(first), Floats{1});
}

TEST_P(SessionTest, EveryFetchOfARunSurvivesTheSharingOfBuffers) {
  Output x = builder_.Placeholder("x", {2});
  std::vector<std::string> fetches;
  for (int i = 0; i < 6; ++i) {
    x = builder_.AddV2(x, x);
    fetches.push_back(graph_.At(x.node).name);
  }
  const std::vector<Tensor> values = Start().Run({{"x", Values({1, 3})}}, fetches);
  for (size_t i = 0; i < fetches.size(); ++i) {
    const float factor = static_cast<float>(2 << i);
    EXPECT_EQ(FloatsOf(values[i]), (Floats{factor, 3 * factor}));
  }
}

TEST_P(SessionTest, ReshapesFollowTheFedBuffer) {
  const Output x = builder_.Placeholder("x", {4});
  builder_.Relu(builder_.Reshape(builder_.Reshape(x, {2, 2}), {4, 1}));
  Session& session = Start();
  for (float value : {1.0f, 2.0f}) {
    const std::vector<Tensor> fetched =
        session.Run({{"x", Values({value, -1, value, -1})}}, {"Relu", "Reshape"});
    EXPECT_EQ(FloatsOf(fetched[0]), (Floats{value, 0, value, 0}));
    EXPECT_EQ(fetched[0].GetShape(), Shape({4, 1}));
    EXPECT_EQ(fetched[1].GetShape(), Shape({2, 2}));
  }
}

TEST_P(SessionTest, SlicesFollowTheFedBufferAndLeaveItAsItIs) {
  const Output x = builder_.Reshape(builder_.Placeholder("x", {6}), {3, 2});
  const Output rows = builder_.Slice(x, {1, 0}, {2, 2});  // Whole rows: a view.
  const Output column = builder_.Slice(rows, {0, 1}, {2, 1});
  const Output positive = builder_.Relu(builder_.Slice(rows, {1, 0}, {1, 2}));
  std::vector<std::string> fetches;
  for (const Output& fetch : {rows, column, positive})
    fetches.push_back(graph_.At(fetch.node).name);
  Session& session = Start();
  for (float value : {1.0f, 2.0f}) {
    const Tensor fed = Values({0, -1, value, 3, 4, -5});
    const std::vector<Tensor> fetched = session.Run({{"x", fed}}, fetches);
    EXPECT_EQ(FloatsOf(fetched[0]), (Floats{value, 3, 4, -5}));
    EXPECT_EQ(FloatsOf(fetched[1]), (Floats{3, -5}));
    EXPECT_EQ(FloatsOf(fetched[2]), (Floats{4, 0}));
    EXPECT_EQ(FloatsOf(fed), (Floats{0, -1, value, 3, 4, -5}));
  }
}

TEST_P(SessionTest, VariablesAreReadBeforeTheyAreWritten) {
  const Output v = builder_.UntrainableVariable("v", Values({4}));
  const Output x = builder_.Placeholder("x", {1});
  const NodeId update = graph_.Add("AssignMovingAverage", "update", {v, x}, {{"decay", 0.5f}});
  Output late = builder_.Relu(x);
  for (int i = 0; i < 5; ++i) late = builder_.Relu(late);
  const Output sum = builder_.AddV2(late, builder_.Reshape(v, {1}));
  Session& session = Start();
  const std::vector<std::string> fetches = {graph_.At(update).name, graph_.At(sum.node).name, "v"};
  const std::vector<Tensor> first = session.Run({{"x", Values({0})}}, fetches);
  EXPECT_EQ(FloatsOf(first[0]), Floats{2});
  EXPECT_EQ(FloatsOf(first[1]), Floats{4});
  EXPECT_EQ(FloatsOf(first[2]), Floats{2});
  EXPECT_EQ(FloatsOf(session.Run({{"x", Values({0})}}, fetches)[1]), Floats{2});
  EXPECT_EQ(FloatsOf(session.Variable("v")), Floats{1});
}

TEST_P(SessionTest, VariablesCanBeSetAndHashed) {
  const Output v = builder_.Variable("v", Values({1, 2}));
  builder_.Relu(builder_.Reshape(v, {2, 1}));
  Session& session = Start();
  const uint64_t before = session.VariablesHash();
  session.SetVariable("v", Values({7, -8}));
  EXPECT_EQ(FloatsOf(session.Run({}, {"Relu"})[0]), (Floats{7, 0}));
  EXPECT_NE(session.VariablesHash(), before);
  session.SetVariable("v", Values({1, 2}));
  EXPECT_EQ(session.VariablesHash(), before);
  EXPECT_EQ(session.VariableNames(), std::vector<std::string>{"v"});
  EXPECT_EQ(ErrorOf([&] { session.SetVariable("v", Values({1})); }),
            "variable \"v\": float [1]; allowed: float [2]");
  EXPECT_EQ(ErrorOf([&] { session.Variable("w"); }),
            "variable \"w\": the graph has no such variable");
}

TEST_P(SessionTest, SessionsOfOneGraphHaveTheirOwnVariables) {
  builder_.Variable("v", Values({1}));
  Session& session = Start();
  Session other(graph_, {.backend = GetParam()});
  session.SetVariable("v", Values({2}));
  EXPECT_EQ(FloatsOf(other.Variable("v")), Floats{1});
}

// Each in a run of its own, one after the other, while the pools they share grow, shrink and pause.
TEST_P(SessionTest, SessionsMayShareTheirPools) {
  constexpr int kSessions = 3, kRuns = 200;
  Output x = builder_.Placeholder("x", {64});
  for (int i = 0; i < 8; ++i) x = builder_.AddV2(x, x);
  graph_.Build();
  const std::vector<std::string> fetches = {graph_.At(x.node).name};
  std::vector<std::unique_ptr<Session>> sessions;  // Outlive the pools.
  ThreadPools pools({2, 2}, ThreadPools::Binding::kNone, nullptr);
  for (int i = 0; i < kSessions; ++i) {
    sessions.push_back(
        std::make_unique<Session>(graph_, SessionOptions{.pools = &pools, .backend = GetParam()}));
    EXPECT_EQ(&sessions.back()->Pools(), &pools);
  }
  std::atomic<int> left = kSessions;
  std::vector<std::thread> threads;
  for (int i = 0; i < kSessions; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < kRuns; ++run) {
        const auto value = static_cast<float>(i * kRuns + run);
        const Tensor y = sessions[static_cast<size_t>(i)]->Run(
            {{"x", Values(std::vector<float>(64, value))}}, fetches)[0];
        EXPECT_EQ(FloatsOf(y), std::vector<float>(64, 256 * value));
      }
      --left;
    });
  }
  while (left > 0) {
    for (const Split split : {Split{1, 1}, Split{2, 2}, Split{0, 0}, Split{2, 1}}) {
      pools.Resize({0, 1}, split);
      std::this_thread::yield();
    }
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(SessionTest, EffectsCanBeFetchedWithoutAValue) {
  const Output v = builder_.Variable("v", Values({1}));
  const Output loss = builder_.MeanAll(builder_.AddV2(v, v));
  builder_.ApplyMomentum({v}, builder_.Gradients(loss, {v}), 0.5f, 0, 0, "train");
  Session& session = Start();
  EXPECT_TRUE(session.Run({}, {"train"})[0].IsEmpty());
  EXPECT_EQ(FloatsOf(session.Variable("v")), Floats{0});
  EXPECT_EQ(FloatsOf(session.Run({}, {"v/ApplyMomentum"})[0]), Floats{-1});
}

TEST_P(SessionTest, BadFetchesAndFeedsAreRefused) {
  builder_.Relu(builder_.Placeholder("x", {2}));
  graph_.Add("NoOp", "nothing", {});
  Session& session = Start();
  const Tensor x = Values({1, 2});
  const auto error = [&](const Feeds& feeds, const std::string& fetch) {
    return ErrorOf([&] { session.Run(feeds, {fetch}); });
  };
  EXPECT_EQ(error({}, "Relu"), "placeholder \"x\": is not fed, but the fetches need it");
  EXPECT_EQ(error({{"x", Values({1})}}, "Relu"), "feed \"x\": float [1]; allowed: float [2]");
  EXPECT_EQ(error({{"x", Tensor({2}, DataType::kInt32)}}, "Relu"),
            "feed \"x\": int32 [2]; allowed: float [2]");
  EXPECT_EQ(error({{"x", Tensor()}}, "Relu"), "feed \"x\": an empty tensor; allowed: float [2]");
  EXPECT_EQ(error({{"x", x}, {"x", x}}, "Relu"), "feed \"x\": fed twice");
  EXPECT_EQ(error({{"Relu", x}}, "Relu"), "feed \"Relu\": the graph has no such placeholder");
  for (const char* fetch : {"Rely", "Relu:", "Relu:x", "Relu:-1", ":0", ""}) {
    EXPECT_EQ(error({}, fetch), "fetch \"" + std::string(fetch) +
                                    "\": the graph has no such node; allowed: \"node\" or "
                                    "\"node:output\"");
  }
  EXPECT_EQ(error({}, "Relu:1"), "fetch \"Relu:1\": the node has 1 outputs");
  EXPECT_EQ(error({}, "nothing:0"), "fetch \"nothing:0\": the node has 0 outputs");
  EXPECT_EQ(FloatsOf(session.Run({{"x", x}}, {"Relu"})[0]), (Floats{1, 2}));
}

TEST_P(SessionTest, RunsWithNothingToDo) {
  builder_.Const("c", Values({3}));
  Session& session = Start();
  EXPECT_TRUE(session.Run({}, {}).empty());
  EXPECT_EQ(FloatsOf(session.Run({}, {"c"})[0]), Floats{3});
}

TEST(SessionOpsTest, EveryOpHasAKernelOrIsTheSessionsOwn) {
  for (const OpDefinition& op : Ops()) {
    const bool own = IsSource(op.name) || op.name == "Reshape" || op.name == "NoOp";
    EXPECT_NE(HasKernel(op.name), own) << op.name;
  }
}

}  // namespace
}  // namespace cosched
