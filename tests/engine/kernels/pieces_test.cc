// Long ops are cut into pieces: these give what the whole gives, the same bits at any number of
// workers, and there are as many as the work is worth.

#include "engine/kernels/pieces.h"

#include <atomic>
#include <climits>
#include <set>
#include <thread>

#include "tests/engine/kernels/op_cases.h"

namespace cosched::testing {
namespace {

using std::chrono::microseconds;

constexpr microseconds kNever{0}, kTiny{1}, kShort{20};

TEST(TasksOf, AreAsManyAsTheWorkIsWorthAndTheCapacityAllows) {
  EXPECT_EQ(TasksOf(9e-6, 64), 1);
  EXPECT_EQ(TasksOf(11e-6, 64), 2);
  EXPECT_EQ(TasksOf(75e-6, 64), 2);
  EXPECT_EQ(TasksOf(95e-6, 64), 3);
  EXPECT_EQ(TasksOf(395e-6, 64), 10);
  EXPECT_EQ(TasksOf(395e-6, 8), 8);
  EXPECT_EQ(TasksOf(1, 64), 64);
  EXPECT_EQ(TasksOf(1, 1), 1);
}

TEST(TasksOf, OfAGradientFewerAreWorthTheirWork) {
  EXPECT_EQ(TasksOfGradient(5e-6, 64), 1);
  EXPECT_EQ(TasksOfGradient(20e-6, 64), 2);
  EXPECT_EQ(TasksOfGradient(1, 2), 2);
  EXPECT_EQ(TasksOfGradient(1600e-6, 64), 10);
  EXPECT_EQ(TasksOf(1600e-6, 64), 40);
}

TEST(Division, PartsDifferByOneAndCoverAll) {
  for (int64_t count : {1, 2, 7, 13, 100, 101}) {
    for (double fitting : {0.3, 1.0, 2.5, 6.0, 99.0, 200.0}) {
      const Division division = Division::Of(count, 1.0, fitting);
      int64_t total = 0;
      for (int64_t part = 0; part < division.parts; ++part) {
        EXPECT_EQ(division.Begin(part), total);
        EXPECT_GE(division.Size(part), 1);
        EXPECT_LE(division.Size(part), std::max(fitting, 1.0));
        EXPECT_LE(division.Size(0) - division.Size(part), 1);
        total += division.Size(part);
      }
      EXPECT_EQ(total, count);
    }
  }
}

TEST(Division, KeepsPartsAboveTheLeast) {
  EXPECT_EQ(Division::Of(10, 1.0, 1.0, 3).parts, 3);
  EXPECT_EQ(Division::Of(2, 1.0, 1.0, 3).parts, 1);
}

TEST(PieceSeconds, GrowsWithTasksAndIsEndlessForZero) {
  EXPECT_DOUBLE_EQ(PieceSeconds(microseconds(2000), 1), 2e-3);
  EXPECT_DOUBLE_EQ(PieceSeconds(microseconds(2000), 4), 2e-3);
  EXPECT_DOUBLE_EQ(PieceSeconds(microseconds(2000), 16), 8e-3);
  EXPECT_EQ(Division::Of(1'000'000, 1.0, PieceSeconds(kNever, 1)).parts, 1);
}

class CutKernel : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(EveryOp, CutKernel, ::testing::ValuesIn(OpsWithCases()),
                         [](const auto& info) { return info.param; });

TEST_P(CutKernel, AgreesWithNaiveLoops) {
  TestPools one({1, 1});
  for (const OpCase& c : CasesOf(GetParam())) {
    OpRun expected(c, one, KernelBackend::kReference);
    expected.Compute();
    for (const PoolSize& size : {PoolSize{1, 1}, {2, 2}, {8, 2}}) {
      for (const microseconds& piece_time : {kTiny, kShort}) {
        SCOPED_TRACE(::testing::Message() << c << " " << size << " " << piece_time.count());
        TestPools pools(size);
        OpRun actual(c, pools, KernelBackend::kFast, piece_time);
        actual.Compute();
        ExpectAllClose(expected, actual);
      }
    }
  }
}

TEST_P(CutKernel, GivesTheSameBitsWhileThePoolIsResizedWithinAndBetweenPieces) {
  TestPools pools({8, 1});
  constexpr int kSteps = 3;
  const std::vector<OpCase> cases = CasesOf(GetParam());
  std::vector<std::vector<Tensor>> expected;
  for (const OpCase& c : cases) {
    OpRun run(c, pools, KernelBackend::kFast, kTiny);
    for (int step = 0; step < kSteps; ++step) run.Compute();
    expected.push_back(run.Outputs());
  }
  std::atomic<bool> stop = false;
  std::thread resizer([&] {
    Random random(26);
    while (!stop) {
      pools.SetActive(1 + static_cast<int>(random.Below(8)));
      std::this_thread::sleep_for(microseconds(random.Below(50)));
    }
  });
  Random random(27);
  for (size_t i = 0; i < cases.size(); ++i) {
    OpRun resized(cases[i], pools, KernelBackend::kFast, kTiny);
    for (int step = 0; step < kSteps; ++step) {
      for (int piece = 0; piece < resized.Pieces(); ++piece) {
        pools.SetActive(1 + static_cast<int>(random.Below(8)));
        resized.ComputePiece(piece);
      }
    }
    for (size_t output = 0; output < expected[i].size(); ++output)
      EXPECT_TRUE(SameBits(expected[i][output], resized.Outputs()[output])) << cases[i];
  }
  stop = true;
  resizer.join();
}

// An op on inputs of these shapes. The inputs are drawn by Make(), not before: the long ones take
// seconds, and each test is a process of its own that registers all cases.
struct ShapedOp {
  std::string op;
  std::vector<Shape> shapes;
  std::map<std::string, Attribute> attributes = {};

  std::string Name() const { return op + "_" + shapes[0].ToString(); }
  OpCase Make() const {
    OpCase c{Name(), op, {}, attributes};
    for (size_t i = 0; i < shapes.size(); ++i)
      c.inputs.push_back(RandomTensor(shapes[i], 30 + i, 0.1, 1));
    return c;
  }
};
void PrintTo(const ShapedOp& shaped, std::ostream* stream) { *stream << shaped.Name(); }

// A convolution, 3x3 with "SAME" padding, and its gradients.
std::vector<ShapedOp> Convolutions(const Shape& image, int64_t out_channels, int64_t stride = 1,
                                   int64_t groups = 1) {
  const Shape filter{3, 3, image[3] / groups, out_channels};
  const Shape output{image[0], (image[1] + stride - 1) / stride, (image[2] + stride - 1) / stride,
                     out_channels};
  const std::map<std::string, Attribute> geometry{{"strides", Ints{stride, stride}},
                                                  {"padding", "SAME"}};
  auto input = geometry, weights = geometry;
  input["input_shape"] = image.Sizes();
  weights["filter_shape"] = filter.Sizes();
  return {{"Conv2D", {image, filter}, geometry},
          {"Conv2DBackpropInput", {filter, output}, input},
          {"Conv2DBackpropFilter", {image, output}, weights}};
}

int PiecesOf(const OpCase& c, microseconds piece_time, int capacity = 1) {
  TestPools pools({capacity, 1});
  return OpRun(c, pools, KernelBackend::kFast, piece_time).Pieces();
}

// Batches of one piece, of equal ones, and of ones that differ; rows of one image; sums over both;
// slices of channels.
TEST(CutConvolution, AgreesWithNaiveLoopsAtAnyBatchSize) {
  for (int64_t batch : {1, 2, 5, 7, 12, 13}) {
    for (const ShapedOp& shaped : Convolutions({batch, 11, 10, 32}, batch % 3 == 0 ? 32 : 48,
                                               batch % 2 + 1, batch % 3 == 0 ? 32 : batch % 3)) {
      const OpCase c = shaped.Make();
      TestPools pools({2, 2});
      OpRun expected(c, pools, KernelBackend::kReference);
      expected.Compute();
      int before = INT_MAX;
      for (int piece_time : {1, 10, 40, 160, 640}) {
        SCOPED_TRACE(::testing::Message() << c.name << " in pieces of " << piece_time << " us");
        OpRun cut(c, pools, KernelBackend::kFast, microseconds(piece_time));
        EXPECT_LE(cut.Pieces(), before);
        before = cut.Pieces();
        for (int step = 0; step < 2; ++step) cut.Compute();
        ExpectClose(expected.Outputs()[0], cut.Outputs()[0]);
      }
    }
  }
}

std::vector<ShapedOp> LongOps() {
  std::vector<ShapedOp> ops;
  for (const auto& cases :
       {Convolutions({13, 28, 28, 64}, 64), Convolutions({1, 112, 112, 64}, 64),
        Convolutions({11, 7, 7, 256}, 256), Convolutions({13, 28, 28, 64}, 64, 1, 2),
        Convolutions({13, 56, 56, 64}, 64, 1, 64)})
    ops.insert(ops.end(), cases.begin(), cases.end());
  for (bool ta : {false, true}) {
    for (bool tb : {false, true})
      ops.push_back(ShapedOp{
          "MatMul",
          {ta ? Shape{1021, 517} : Shape{517, 1021}, tb ? Shape{771, 1021} : Shape{1021, 771}},
          {{"transpose_a", ta}, {"transpose_b", tb}}});
  }
  const Shape large{13, 64, 64, 96}, c{96};
  const std::map<std::string, Attribute> lrn{
      {"depth_radius", int64_t{2}}, {"bias", 1.0f}, {"alpha", 0.1f}, {"beta", 0.75f}};
  const std::map<std::string, Attribute> window{
      {"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"padding", "VALID"}};
  auto window_gradient = window;
  window_gradient["input_shape"] = large.Sizes();
  ops.push_back(ShapedOp{"MaxPool", {large}, window});
  ops.push_back(ShapedOp{"AvgPool", {large}, window});
  ops.push_back(ShapedOp{"AvgPoolGrad", {{13, 32, 32, 96}}, window_gradient});
  ops.push_back(ShapedOp{"MaxPoolGrad", {large, {13, 32, 32, 96}, {13, 32, 32, 96}}, window});
  ops.push_back(ShapedOp{"BiasAdd", {large, c}});
  ops.push_back(ShapedOp{
      "FusedBatchNormV3", {large, c, c, c, c}, {{"epsilon", 1e-3f}, {"is_training", false}}});
  ops.push_back(ShapedOp{
      "FusedBatchNormV3", {large, c, c, c, c}, {{"epsilon", 1e-3f}, {"is_training", true}}});
  ops.push_back(ShapedOp{"FusedBatchNormGradV3", {large, large, c, c, c}, {{"epsilon", 1e-3f}}});
  ops.push_back(ShapedOp{"Relu", {large}});
  ops.push_back(ShapedOp{"ReluGrad", {large, large}});
  ops.push_back(ShapedOp{"HardSwish", {large}});
  ops.push_back(ShapedOp{"SigmoidGrad", {large, large}});
  ops.push_back(ShapedOp{"Sqrt", {large}});
  ops.push_back(ShapedOp{"Erf", {large}});
  ops.push_back(ShapedOp{"ErfGrad", {large, large}});
  ops.push_back(ShapedOp{"Gelu", {large}});
  ops.push_back(ShapedOp{"_FusedLayerNorm", {large, c, c}, {{"epsilon", 1e-6f}}});
  ops.push_back(ShapedOp{"RealDiv", {large, {13, 1, 1, 96}}});
  ops.push_back(ShapedOp{"ConcatV2", {large, large}, {{"axis", int64_t{3}}}});
  ops.push_back(ShapedOp{"ConcatV2", {large, large}, {{"axis", int64_t{0}}}});
  ops.push_back(
      ShapedOp{"Slice", {large}, {{"begin", Ints{0, 1, 0, 0}}, {"size", Ints{13, 63, 64, 90}}}});
  ops.push_back(ShapedOp{"Pad", {large}, {{"paddings", Ints{0, 0, 1, 1, 1, 1, 0, 0}}}});
  ops.push_back(ShapedOp{"Transpose", {large}, {{"perm", Ints{0, 3, 1, 2}}}});
  ops.push_back(ShapedOp{"LRN", {large}, lrn});
  ops.push_back(ShapedOp{"LRNGrad", {large, large, large}, lrn});
  ops.push_back(ShapedOp{"AddV2", {large, large}});
  ops.push_back(ShapedOp{"AddN", {large, large, large}});
  ops.push_back(ShapedOp{"Mul", {large, large}});
  ops.push_back(ShapedOp{"Mul", {large, Shape{}}});
  ops.push_back(ShapedOp{"ApplyMomentum",
                         {large, large, large},
                         {{"learning_rate", 0.1f}, {"momentum", 0.9f}, {"weight_decay", 1e-2f}}});
  ops.push_back(ShapedOp{"Mean", {{13, 64, 64, 128}}, {{"axes", Ints{1, 2}}}});
  ops.push_back(ShapedOp{
      "MeanGrad", {{13, 128}}, {{"axes", Ints{1, 2}}, {"input_shape", Ints{13, 64, 64, 128}}}});
  ops.push_back(ShapedOp{"Softmax", {{1301, 2000}}});
  return ops;
}

bool IsTraining(const OpCase& c) {
  const auto found = c.attributes.find("is_training");
  return found != c.attributes.end() && std::get<bool>(found->second);
}

class LongOp : public ::testing::TestWithParam<ShapedOp> {
 protected:
  const OpCase case_ = GetParam().Make();
};
INSTANTIATE_TEST_SUITE_P(EveryOp, LongOp, ::testing::ValuesIn(LongOps()));

TEST_P(LongOp, IsCutAndGivesWhatTheWholeGives) {
  TestPools pools({2, 2});
  OpRun cut(case_, pools, KernelBackend::kFast, kPieceTime),
      whole(case_, pools, KernelBackend::kFast, kNever);
  EXPECT_GT(cut.Pieces(), 1);
  EXPECT_EQ(whole.Pieces(), 1);
  cut.Compute();
  whole.Compute();
  // Sums in another order; of products, how each is taken may depend on the tile.
  const std::set<std::string> sums = {"Conv2DBackpropFilter", "MatMul", "FusedBatchNormGradV3"};
  const bool rounds = sums.contains(case_.op) || IsTraining(case_);
  for (size_t i = 0; i < whole.Outputs().size(); ++i) {
    if (rounds) {
      ExpectClose(whole.Outputs()[i], cut.Outputs()[i]);
    } else {
      EXPECT_TRUE(SameBits(whole.Outputs()[i], cut.Outputs()[i])) << "output " << i;
    }
  }
}

TEST_P(LongOp, HasFewerPiecesForMoreTasksOrMoreTime) {
  const int pieces = PiecesOf(case_, kPieceTime);
  EXPECT_LT(PiecesOf(case_, 100 * kPieceTime), pieces);
  EXPECT_EQ(PiecesOf(case_, kPieceTime, /*capacity=*/4), pieces);
  EXPECT_LT(PiecesOf(case_, kPieceTime, /*capacity=*/64), pieces);
  EXPECT_EQ(PiecesOf(case_, kNever), 1);
}

TEST(ShortOps, AreNotCut) {
  for (const OpCase& c : AllCases()) EXPECT_EQ(PiecesOf(c, kPieceTime), 1) << c.name;
  for (const auto& stage : {Convolutions({32, 32, 32, 16}, 16), Convolutions({32, 16, 16, 32}, 32),
                            Convolutions({32, 8, 8, 64}, 64)})
    for (const ShapedOp& op : stage) EXPECT_EQ(PiecesOf(op.Make(), kPieceTime), 1) << op.Name();
}

}  // namespace
}  // namespace cosched::testing
