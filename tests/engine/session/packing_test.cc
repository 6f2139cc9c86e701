// What kernels keep of constants is packed before the first node, in pieces: a pause comes between
// two of them, large constants are in several, and every value ends where it belongs.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "engine/graph/optimizer.h"
#include "small_cnn.h"

namespace cosched {
namespace {

constexpr Split kPools{2, 2};

// A network of one input "x" with constant weights, optimised as for inference.
class Network {
 public:
  explicit Network(const Shape& input) : x_(builder_.Placeholder("x", input)) {
    Random random(3);
    input_ = RandomTensor(input, 1, &random);
  }

  void Dense(int64_t columns) {
    const int64_t rows = plain_.Info(x_).shape[1];
    x_ = builder_.MatMul(x_, Weights({rows, columns}, 1 / std::sqrt(static_cast<double>(rows))));
    x_ = builder_.Relu(builder_.BiasAdd(x_, Weights({columns}, 0.1)));
  }
  void Convolution(int64_t size, int64_t filters, int stride) {
    const int64_t channels = plain_.Info(x_).shape[3];
    x_ = builder_.Conv2D(x_, Weights({size, size, channels, filters}, 0.1), stride, Padding::kSame);
    x_ = builder_.Relu(builder_.BiasAdd(x_, Weights({filters}, 0.1)));
  }
  void Build() {
    fetches_ = {plain_.At(x_.node).name};
    plain_.Build();
    OptimizeForInference(plain_, fetches_, /*variables=*/{}, &graph_);
    graph_.Build();
  }

  std::unique_ptr<Session> NewSession(SessionOptions options = {}) const {
    options.inter_op_parallelism_threads = kPools.inter;
    options.intra_op_parallelism_threads = kPools.intra;
    return std::make_unique<Session>(graph_, options);
  }
  Tensor Run(Session* session) const { return session->Run({{"x", input_}}, fetches_)[0]; }

 private:
  Output Weights(const Shape& shape, double deviation) {
    return builder_.Const("c" + std::to_string(plain_.Size()),
                          RandomTensor(shape, deviation, &random_));
  }

  Graph plain_, graph_;
  GraphBuilder builder_{&plain_};
  Random random_{7};
  Output x_;
  Tensor input_;
  std::vector<std::string> fetches_;
};

// Each worker ends the piece that it is in, and no more begins. Only with luck does the pause meet
// the packing, which takes a moment; of so many some do.
TEST(PackingTest, IsPausedBetweenTwoPieces) {
  constexpr int kLayers = 64, kTries = 100, kEnough = 3;
  Network network({16, 256});
  for (int i = 0; i < kLayers; ++i) network.Dense(256);
  network.Build();
  const Tensor expected = network.Run(network.NewSession().get());
  int met = 0;
  for (int i = 0; i < kTries && met < kEnough; ++i) {
    const auto session = network.NewSession();
    Tensor result;
    std::thread run([&] { result = network.Run(session.get()); });
    while (session->PiecesRun() == 0) std::this_thread::yield();
    session->Resize({.paused = true});
    const int64_t asked = session->PiecesRun();
    EXPECT_TRUE(session->Pools().WaitSettled(std::chrono::minutes(5)));
    EXPECT_LE(session->PiecesRun(), asked + kPools.inter);
    met += session->NodesStarted() == 0 ? 1 : 0;
    session->Resize({.paused = false});
    run.join();
    ASSERT_EQ(result.Bytes(), expected.Bytes());
    EXPECT_EQ(std::memcmp(result.Data(), expected.Data(), result.Bytes()), 0);
  }
  EXPECT_GT(met, 0) << "nothing was packed when a pause came";
}

TEST(PackingTest, IsNoNode) {
  Network network({16, 256});
  network.Dense(256);
  network.Build();
  const auto session = network.NewSession();
  network.Run(session.get());
  const int64_t nodes = session->NodesStarted();
  network.Run(session.get());
  EXPECT_EQ(session->NodesStarted(), 2 * nodes);
}

struct LargeConstant {
  const char* name;
  Shape image;
  int64_t size, filters;
  int stride;
};
class LargeConstantTest : public ::testing::TestWithParam<LargeConstant> {};

// More pieces than a second run has, and the values of the naive loops.
TEST_P(LargeConstantTest, IsPackedInParts) {
  const LargeConstant& param = GetParam();
  Network network(param.image);
  network.Convolution(param.size, param.filters, param.stride);
  network.Build();
  const auto session = network.NewSession({.piece_time = std::chrono::microseconds(20)});
  const Tensor result = network.Run(session.get());
  const int64_t first = session->PiecesRun();
  network.Run(session.get());
  const int64_t second = session->PiecesRun() - first;
  EXPECT_GE(first - second, 4);
  const Tensor expected =
      network.Run(network.NewSession({.backend = KernelBackend::kReference}).get());
  ASSERT_EQ(result.GetShape(), expected.GetShape());
  float largest = 0;
  for (int64_t i = 0; i < expected.Elements(); ++i)
    largest = std::max(largest, std::abs(expected.Floats()[i]));
  for (int64_t i = 0; i < expected.Elements(); ++i)
    ASSERT_NEAR(result.Floats()[i], expected.Floats()[i], 3e-5f * largest) << i;
}

INSTANTIATE_TEST_SUITE_P(
    Filters, LargeConstantTest,
    ::testing::Values(LargeConstant{"whole_blocks", {1, 6, 6, 256}, 3, 256, 2},
                      LargeConstant{"ragged_filters", {1, 6, 6, 64}, 3, 328, 2},
                      LargeConstant{"ragged_channels", {1, 6, 6, 331}, 3, 64, 2},
                      LargeConstant{"wide_window", {1, 7, 7, 128}, 7, 256, 7},
                      LargeConstant{"winograd", {4, 12, 12, 256}, 3, 256, 1}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cosched
