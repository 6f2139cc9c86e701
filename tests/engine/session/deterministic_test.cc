// Work that is divided for the threads of the moment gives what a session of just these gives;
// divided for the most threads, as by default, it gives the same whatever they are.

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "engine/base/topology.h"
#include "engine/graph/optimizer.h"
#include "small_cnn.h"

namespace cosched {
namespace {

constexpr int kCapacity = 8;

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.Bytes() == b.Bytes() && std::memcmp(a.Data(), b.Data(), a.Bytes()) == 0;
}

// The gradient of a filter, a sum over many pixels, in parts for each thread.
class DeterministicTest : public ::testing::Test {
 protected:
  DeterministicTest() {
    GraphBuilder builder(&graph_);
    const Output images = builder.Placeholder("images", kImages),
                 gradients = builder.Placeholder("gradients", kGradients);
    fetch_ = graph_
                 .At(graph_.Add("Conv2DBackpropFilter", "sum", {images, gradients},
                                {{"strides", std::vector<int64_t>{1, 1}},
                                 {"padding", "SAME"},
                                 {"filter_shape", std::vector<int64_t>{5, 5, 8, 8}}}))
                 .name;
    graph_.Build();
  }

  Tensor Run(Session* session, std::optional<int> threads = {}) const {
    if (threads) session->Resize(CpuSet::Range(0, *threads - 1), {1, *threads});
    return session->Run({{"images", images_}, {"gradients", gradients_}}, {fetch_})[0];
  }

  inline static const Shape kImages{16, 32, 32, 8}, kGradients{16, 32, 32, 8};
  Random random_{1};
  const Tensor images_ = RandomTensor(kImages, 1, &random_),
               gradients_ = RandomTensor(kGradients, 1, &random_);
  Graph graph_;
  std::string fetch_;
};

TEST_F(DeterministicTest, IsTheDefault) {
  Session session(graph_, {.intra_op_parallelism_threads = kCapacity});
  const Tensor expected = Run(&session, kCapacity);
  for (const int threads : {1, 2, 4}) EXPECT_TRUE(SameBits(Run(&session, threads), expected));
  Session alone(graph_, {});
  EXPECT_FALSE(SameBits(Run(&alone), expected)) << "too little work to tell";
}

TEST_F(DeterministicTest, WithoutItWorkIsDividedForTheThreadsOfTheMoment) {
  Session session(graph_, {.intra_op_parallelism_threads = kCapacity, .deterministic = false});
  for (const int threads : {1, 2, 8, 1, 4, 8}) {
    Session just(graph_, {.intra_op_parallelism_threads = threads});
    EXPECT_TRUE(SameBits(Run(&session, threads), Run(&just))) << threads;
  }
  Session four(graph_, {.intra_op_parallelism_threads = 4});
  EXPECT_TRUE(SameBits(Run(&session, 3), Run(&four))) << "the next power of two";
}

// Workers that have no node of their own take part in those of others, so they count.
TEST_F(DeterministicTest, WithoutItLentThreadsCount) {
  const Topology machine = Topology::ThisMachine();
  if (machine.Cpus().Count() < 2) GTEST_SKIP() << "needs 2 cores";
  CpuSet cores;
  for (const int cpu : machine.Cpus()) {
    if (cores.Count() < 2) cores.Add(cpu);
  }
  Session session(graph_, {.inter_op_parallelism_threads = 2,
                           .intra_op_parallelism_threads = 8,
                           .deterministic = false,
                           .binding = ThreadPools::Binding::kEachToItsCore,
                           .topology = &machine});
  session.Resize(cores, {2, 2});
  EXPECT_EQ(session.Pools().Current().intra, 1);
  EXPECT_EQ(session.Pools().ThreadsAtANode(), 2);
  Session two(graph_, {.intra_op_parallelism_threads = 2});
  EXPECT_TRUE(SameBits(Run(&session), Run(&two)));
}

// Also where kernels keep the constants, and let others go.
TEST_F(DeterministicTest, WithoutItConstantsAreThereForEachNumberOfThreads) {
  Graph graph;
  GraphBuilder builder(&graph);
  Random random(2);
  Output x = builder.Placeholder("images", {8, 14, 14, 32});
  x = builder.Relu(builder.BiasAdd(
      builder.Conv2D(x, builder.Variable("filter", RandomTensor({3, 3, 32, 32}, 0.1, &random)), 1,
                     Padding::kSame),
      builder.Variable("bias", RandomTensor({32}, 1, &random))));
  const std::vector<std::string> fetches = {graph.At(x.node).name};
  Graph fused;
  OptimizeForInference(graph, fetches, {}, &fused);
  fused.Build();
  const Tensor images = RandomTensor({8, 14, 14, 32}, 1, &random);
  Session session(fused, {.intra_op_parallelism_threads = kCapacity,
                          .deterministic = false,
                          .one_list_of_fetches = true});
  for (const int threads : {1, 8, 2, 1}) {
    session.Resize(CpuSet::Range(0, threads - 1), {1, threads});
    Session just(fused, {.intra_op_parallelism_threads = threads});
    EXPECT_TRUE(SameBits(session.Run({{"images", images}}, fetches)[0],
                         just.Run({{"images", images}}, fetches)[0]))
        << threads;
  }
}

}  // namespace
}  // namespace cosched
