// The central promise: a training run ends in bit-identical weights at every pool size and however
// it is resized.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "engine/base/topology.h"
#include "tests/engine/session/small_cnn.h"

namespace cosched {
namespace {

constexpr int kSteps = 12;
constexpr Split kCapacity = {2, 4};

class TrainingTest : public ::testing::TestWithParam<KernelBackend> {
 protected:
  SessionOptions Options() const {
    return {.inter_op_parallelism_threads = kCapacity.inter,
            .intra_op_parallelism_threads = kCapacity.intra,
            .backend = GetParam()};
  }
  uint64_t Train(Session* session) const {
    for (uint64_t step = 0; step < kSteps; ++step) {
      session->Run(SmallCnn::Batch(step), {cnn_.loss, "train"});
    }
    return session->VariablesHash();
  }
  uint64_t HashAt(Split split) const {
    Session session(cnn_.graph, Options());
    session.Resize(CpuSet::Range(0, 7), split);
    return Train(&session);
  }

  const SmallCnn cnn_;
};

INSTANTIATE_TEST_SUITE_P(Backends, TrainingTest,
                         ::testing::Values(KernelBackend::kReference, KernelBackend::kFast),
                         [](const auto& info) {
                           return info.param == KernelBackend::kFast ? "Fast" : "Reference";
                         });

TEST_P(TrainingTest, LowersTheLoss) {
  Session session(cnn_.graph, Options());
  const Feeds batch = SmallCnn::Batch(0);
  const float before = session.Run(batch, {cnn_.loss})[0].Floats()[0];
  for (int step = 0; step < 30; ++step) session.Run(batch, {"train"});
  const float after = session.Run(batch, {cnn_.loss})[0].Floats()[0];
  EXPECT_LT(after, 0.5f * before);
}

TEST_P(TrainingTest, EndsInTheSameWeightsAtEverySplit) {
  const uint64_t expected = HashAt({1, 1});
  for (const Split split : {Split{1, 2}, Split{1, 4}, Split{2, 1}, Split{2, 2}, Split{2, 4}}) {
    EXPECT_EQ(HashAt(split), expected) << split.inter << " x " << split.intra;
  }
}

TEST_P(TrainingTest, EndsInTheSameWeightsHoweverItIsResized) {
  const uint64_t expected = HashAt({1, 1});
  Session session(cnn_.graph, Options());
  std::atomic<bool> done = false;
  std::thread resizer([&] {
    Random random(3);
    while (!done.load()) {
      const int cores = static_cast<int>(random.Below(4));  // 0 pauses.
      const Split split = {static_cast<int>(1 + random.Below(2)),
                           static_cast<int>(1 + random.Below(4))};
      session.Resize(CpuSet::Range(0, cores - 1), split);
      std::this_thread::yield();
    }
  });
  const auto train = [&] {
    uint64_t hash = 0;
    std::thread trainer([&] { hash = Train(&session); });
    trainer.join();
    return hash;
  };
  EXPECT_EQ(train(), expected);
  done = true;
  resizer.join();
}

TEST_P(TrainingTest, EndsInTheSameWeightsWithThreadsBoundToCores) {
  const Topology machine = Topology::ThisMachine();
  SessionOptions options = Options();
  options.binding = ThreadPools::Binding::kEachToItsCore;
  options.topology = &machine;
  Session session(cnn_.graph, options);
  // Nobody but the caller knows which cores are its own.
  EXPECT_TRUE(session.Pools().Cores().Empty());
  EXPECT_EQ(session.Pools().ActiveThreads(), 0);
  session.Resize(machine.Cpus(), session.Pools().Capacity());
  EXPECT_EQ(Train(&session), HashAt({1, 1}));
}

TEST_P(TrainingTest, PausesWithNoCoresAndGoesOn) {
  Session session(cnn_.graph, Options());
  session.Resize({}, {0, 0});
  while (!session.Settled()) std::this_thread::yield();
  std::atomic<bool> finished = false;
  std::thread trainer([&] {
    Train(&session);
    finished = true;
  });
  while (session.Pools().inter().Queued() == 0) std::this_thread::yield();
  EXPECT_FALSE(finished.load());
  EXPECT_EQ(session.Pools().ActiveThreads(), 0);
  session.Resize({0}, {1, 1});
  trainer.join();
  EXPECT_EQ(session.VariablesHash(), HashAt({1, 1}));
}

TEST_P(TrainingTest, IsResizedByTheCountOfItsNodes) {
  Session session(cnn_.graph, Options());
  session.Resize({0}, {1, 4});
  session.AtNode(25, {.intra = 2, .cause = "counter"});
  session.AtNode(40, {.paused = true, .cause = "counter"});
  uint64_t hash = 0;
  std::thread trainer([&] { hash = Train(&session); });
  while (!session.Pools().Wanted().paused) std::this_thread::yield();
  ASSERT_TRUE(session.Pools().WaitSettled(std::chrono::minutes(5)));
  EXPECT_EQ(session.NodesStarted(), 40);  // One worker, so no other node began.
  EXPECT_EQ(session.Pools().Wanted().split, (Split{1, 2}));
  session.Resize({.paused = false});
  trainer.join();
  EXPECT_EQ(hash, HashAt({1, 1}));
  EXPECT_GT(session.NodesStarted(), 40);
}

TEST_P(TrainingTest, OtherFetchesInBetweenChangeNothing) {
  Session session(cnn_.graph, Options());
  for (uint64_t step = 0; step < kSteps; ++step) {
    session.Run(SmallCnn::Batch(step + 100), {cnn_.loss});
    session.Run(SmallCnn::Batch(step), {cnn_.loss, "train"});
    session.Run(SmallCnn::Batch(step + 200), cnn_.gradients);
  }
  EXPECT_EQ(session.VariablesHash(), HashAt({1, 1}));
}

// Both backends start from the same weights; a step's gradients differ by rounding only.
TEST(TrainingBackendsTest, AgreeOnTheGradients) {
  const SmallCnn cnn;
  Session reference(cnn.graph, {.backend = KernelBackend::kReference});
  Session fast(cnn.graph, {.backend = KernelBackend::kFast});
  const std::vector<Tensor> expected = reference.Run(SmallCnn::Batch(5), cnn.gradients);
  const std::vector<Tensor> actual = fast.Run(SmallCnn::Batch(5), cnn.gradients);
  for (size_t i = 0; i < expected.size(); ++i) {
    for (int64_t e = 0; e < expected[i].Elements(); ++e) {
      const float value = expected[i].Floats()[e];
      ASSERT_NEAR(actual[i].Floats()[e], value, 1e-4f + 1e-3f * std::abs(value))
          << cnn.gradients[i] << " element " << e;
    }
  }
}

// A convolution in many pieces: the pause comes with its node, so no more than one piece is run
// before, and that not wholly if its tasks are many.
TEST(PausedOpTest, StopsWithinAPieceAndGoesOnThere) {
  constexpr int64_t kImages = 32;
  Graph graph;
  GraphBuilder builder(&graph);
  Random random(5);
  const Output images = builder.Placeholder("images", {kImages, 20, 20, 16});
  const Output weights = builder.Variable("weights", RandomTensor({3, 3, 16, 32}, 0.1, &random));
  builder.Conv2D(images, weights, 1, Padding::kSame);
  graph.Build();
  const Feeds feeds = {{"images", RandomTensor({kImages, 20, 20, 16}, 1, &random)}};
  const SessionOptions options = {.inter_op_parallelism_threads = 2,
                                  .intra_op_parallelism_threads = 2,
                                  .piece_time = std::chrono::microseconds(100)};
  Session untouched(graph, options), paused(graph, options);
  const Tensor expected = untouched.Run(feeds, {"Conv2D"})[0];
  const int64_t pieces = untouched.PiecesRun();
  ASSERT_GT(pieces, 3);

  paused.AtNode(1, {.paused = true});
  Tensor result;
  std::thread run([&] { result = paused.Run(feeds, {"Conv2D"})[0]; });
  while (!paused.Pools().Wanted().paused) std::this_thread::yield();
  EXPECT_TRUE(paused.Pools().WaitSettled(std::chrono::minutes(5)));
  EXPECT_LE(paused.PiecesRun(), 1);
  EXPECT_EQ(paused.Pools().ActiveThreads(), 0);
  paused.Resize({.inter = 1, .paused = false});
  run.join();
  EXPECT_EQ(paused.PiecesRun(), pieces);
  ASSERT_EQ(result.Bytes(), expected.Bytes());
  EXPECT_EQ(std::memcmp(result.Data(), expected.Data(), result.Bytes()), 0);
}

}  // namespace
}  // namespace cosched
