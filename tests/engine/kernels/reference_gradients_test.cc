// The naive gradients against central finite differences of the naive forward passes, in double:
// every fast kernel is compared with these loops, so these loops are compared with the definition
// of a derivative.

#include <gtest/gtest.h>

#include <functional>

#include "engine/base/random.h"
#include "engine/kernels/reference/arrays.h"
#include "engine/kernels/reference/batch_norm.h"
#include "engine/kernels/reference/convolution.h"
#include "engine/kernels/reference/dense.h"
#include "engine/kernels/reference/elementwise.h"
#include "engine/kernels/reference/local_response.h"
#include "engine/kernels/reference/loss.h"
#include "engine/kernels/reference/pooling.h"

namespace cosched::reference {
namespace {

using Values = std::vector<double>;

Values RandomValues(int64_t count, uint64_t seed) {
  Random random(seed);
  Values values(static_cast<size_t>(count));
  for (double& value : values) value = random.Uniform(-1, 1);
  return values;
}

double Dot(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Compares d loss / d x with finite differences at every element of x.
void ExpectGradient(Values x, const std::function<double(const Values&)>& loss,
                    const Values& gradient) {
  constexpr double kStep = 1e-5;
  ASSERT_EQ(x.size(), gradient.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = loss(x);
    x[i] = at - kStep;
    const double below = loss(x);
    x[i] = at;
    ASSERT_NEAR((above - below) / (2 * kStep), gradient[i], 1e-6 * (1 + std::abs(gradient[i])))
        << "element " << i;
  }
}

// Two images of 5x6x3; the window 3x2 is not square and, with stride 2, does not divide the image.
Window SomeWindow(bool padded, int64_t out_channels) {
  Window w{.batch = 2,
           .height = 5,
           .width = 6,
           .channels = 3,
           .rows = 3,
           .columns = 2,
           .out_channels = out_channels,
           .stride_height = 2,
           .stride_width = 2};
  w.out_height = padded ? 3 : 2;
  w.out_width = 3;
  w.pad_top = w.pad_bottom = padded ? 1 : 0;
  return w;
}

// The same as a convolution in two groups of channels, with holes in the window.
Window GroupedWindow() {
  Window w = SomeWindow(true, 4);
  w.channels = 6;
  w.groups = 2;
  w.dilation_height = 2;
  w.dilation_width = 3;
  w.pad_top = 2;
  w.out_width = 2;
  return w;
}

class WindowGradients : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Padded, WindowGradients, ::testing::Bool());

void ExpectConvolutionGradients(const Window& w) {
  const Values image = RandomValues(w.ImageElements(), 1);
  const Values filter = RandomValues(w.FilterElements(), 2);
  const Values dy = RandomValues(w.OutputElements(), 3);
  const auto loss = [&](const Values& x, const Values& f) {
    Values y(dy.size());
    Conv2D(w, x.data(), f.data(), y.data());
    return Dot(y, dy);
  };
  Values dx(image.size()), df(filter.size());
  Conv2DBackpropInput(w, filter.data(), dy.data(), dx.data());
  Conv2DBackpropFilter(w, image.data(), dy.data(), df.data());
  ExpectGradient(
      image, [&](const Values& x) { return loss(x, filter); }, dx);
  ExpectGradient(
      filter, [&](const Values& f) { return loss(image, f); }, df);
}

TEST_P(WindowGradients, OfConvolution) { ExpectConvolutionGradients(SomeWindow(GetParam(), 4)); }

TEST(ReferenceGradients, OfConvolutionInGroupsWithDilations) {
  ExpectConvolutionGradients(GroupedWindow());
}

TEST_P(WindowGradients, OfPooling) {
  Window w = SomeWindow(GetParam(), 3);
  w.count_padding = GetParam();
  const Values image = RandomValues(w.ImageElements(), 4);
  const Values dy = RandomValues(w.OutputElements(), 5);
  Values y(dy.size()), dx(image.size());
  MaxPoolGrad(w, image.data(), dy.data(), dx.data());
  ExpectGradient(
      image,
      [&](const Values& x) {
        MaxPool(w, x.data(), y.data());
        return Dot(y, dy);
      },
      dx);
  AvgPoolGrad(w, dy.data(), dx.data());
  ExpectGradient(
      image,
      [&](const Values& x) {
        AvgPool(w, x.data(), y.data());
        return Dot(y, dy);
      },
      dx);
}

TEST(ReferenceGradients, OfBatchNormThroughItsStatistics) {
  const Matrix p{.rows = 11, .channels = 3};
  constexpr double kEpsilon = 1e-3;
  const Values x = RandomValues(p.rows * p.channels, 6), dy = RandomValues(p.rows * p.channels, 7);
  const Values scale = RandomValues(p.channels, 8), offset = RandomValues(p.channels, 9);
  Values mean(3), variance(3);
  const auto loss = [&](const Values& at, const Values& s, const Values& o) {
    Values y(dy.size());
    BatchStatistics(p, at.data(), mean.data(), variance.data());
    BatchNormInference(p, kEpsilon, at.data(), s.data(), o.data(), mean.data(), variance.data(),
                       y.data());
    return Dot(y, dy);
  };
  loss(x, scale, offset);  // Fills the statistics.
  Values dx(x.size()), dscale(3), doffset(3);
  BatchNormGrad(p, kEpsilon, dy.data(), x.data(), scale.data(), mean.data(), variance.data(),
                dx.data(), dscale.data(), doffset.data());
  ExpectGradient(
      x, [&](const Values& v) { return loss(v, scale, offset); }, dx);
  ExpectGradient(
      scale, [&](const Values& v) { return loss(x, v, offset); }, dscale);
  ExpectGradient(
      offset, [&](const Values& v) { return loss(x, scale, v); }, doffset);
}

// d(a b)/da = dy b^T and d(a b)/db = a^T dy: how the graph builds the gradients of MatMul.
TEST(ReferenceGradients, OfMatMulAreMatMulsOfTransposes) {
  const MatMulParameters p{.m = 3, .n = 4, .k = 5};
  const Values a = RandomValues(p.m * p.k, 10), b = RandomValues(p.k * p.n, 11),
               dy = RandomValues(p.m * p.n, 12);
  const auto loss = [&](const Values& left, const Values& right) {
    Values y(dy.size());
    MatMul(p, left.data(), right.data(), y.data());
    return Dot(y, dy);
  };
  Values da(a.size()), db(b.size());
  MatMul({.m = p.m, .n = p.k, .k = p.n, .transpose_b = true}, dy.data(), b.data(), da.data());
  MatMul({.m = p.k, .n = p.n, .k = p.m, .transpose_a = true}, a.data(), dy.data(), db.data());
  ExpectGradient(
      a, [&](const Values& v) { return loss(v, b); }, da);
  ExpectGradient(
      b, [&](const Values& v) { return loss(a, v); }, db);
}

TEST(ReferenceGradients, OfBiasMeanAndRelu) {
  const Matrix p{.rows = 6, .channels = 5};
  const Values x = RandomValues(30, 13), bias = RandomValues(5, 14), dy = RandomValues(30, 15);
  Values y(30), dbias(5), dx(30);
  BiasAddGrad(p, dy.data(), dbias.data());
  ExpectGradient(
      bias,
      [&](const Values& v) {
        BiasAdd(p, x.data(), v.data(), y.data());
        return Dot(y, dy);
      },
      dbias);
  Relu<double>(30, x.data(), y.data());
  ReluGrad<double>(30, dy.data(), y.data(), dx.data());
  ExpectGradient(
      x,
      [&](const Values& v) {
        Relu<double>(30, v.data(), y.data());
        return Dot(y, dy);
      },
      dx);
  const Reduction r{.input = {2, 3, 5}, .kept = {2, 1, 5}};
  const Values dmean = RandomValues(10, 16);
  Values mean(10);
  MeanGrad(r, dmean.data(), dx.data());
  ExpectGradient(
      x,
      [&](const Values& v) {
        Mean(r, v.data(), mean.data());
        return Dot(mean, dmean);
      },
      dx);
}

// Gradients of ops on each element: function(elements, dy, at, dx), where `at` is x or y.
TEST(ReferenceGradients, OfActivations) {
  const Values dy = RandomValues(40, 18);
  Values x = RandomValues(40, 19), y(40), dx(40);
  for (double& value : x) value *= 8;
  const auto loss_of = [&](auto forward) {
    return [&, forward](const Values& at) {
      forward(40, at.data(), y.data());
      return Dot(y, dy);
    };
  };
  const auto clip = [](int64_t n, const double* from, double* to) { Clip(n, -0.5f, 6, from, to); };
  clip(40, x.data(), y.data());
  ClipGrad(40, -0.5f, 6, dy.data(), y.data(), dx.data());
  ExpectGradient(x, loss_of(clip), dx);
  Sigmoid(40, x.data(), y.data());
  SigmoidGrad(40, dy.data(), y.data(), dx.data());
  ExpectGradient(x, loss_of(Sigmoid<double>), dx);
  HardSwishGrad(40, dy.data(), x.data(), dx.data());
  ExpectGradient(x, loss_of(HardSwish<double>), dx);
  ErfGrad(40, dy.data(), x.data(), dx.data());
  ExpectGradient(x, loss_of(Erf<double>), dx);
}

TEST(ReferenceGradients, OfLocalResponse) {
  const LocalResponseParameters p{{.rows = 4, .channels = 7}, 2, 1.5f, 0.4f, 0.75f};
  const Values x = RandomValues(28, 20), dy = RandomValues(28, 21);
  Values y(28), dx(28);
  LocalResponseGrad(p, dy.data(), x.data(), dx.data());
  ExpectGradient(
      x,
      [&](const Values& at) {
        LocalResponse(p, at.data(), y.data());
        return Dot(y, dy);
      },
      dx);
}

TEST(ReferenceGradients, OfCrossEntropyIsItsBackprop) {
  const Matrix p{.rows = 3, .channels = 7};
  const std::vector<int32_t> labels{0, 6, 3};
  const Values logits = RandomValues(21, 17);
  Values losses(3), backprop(21), scratch(21);
  SparseSoftmaxCrossEntropy(p, logits.data(), labels.data(), losses.data(), backprop.data());
  ExpectGradient(
      logits,
      [&](const Values& v) {
        SparseSoftmaxCrossEntropy(p, v.data(), labels.data(), losses.data(), scratch.data());
        return losses[0] + losses[1] + losses[2];
      },
      backprop);
}

TEST(ReferenceKernels, MaxPoolGradGivesTiesToTheFirstInRowMajorOrder) {
  const Window w{.batch = 1,
                 .height = 2,
                 .width = 2,
                 .channels = 1,
                 .rows = 2,
                 .columns = 2,
                 .out_height = 1,
                 .out_width = 1,
                 .out_channels = 1};
  const Values image{1, 5, 5, 5}, dy{2};
  Values dx(4);
  MaxPoolGrad(w, image.data(), dy.data(), dx.data());
  EXPECT_EQ(dx, (Values{0, 2, 0, 0}));
}

TEST(ReferenceKernels, AvgPoolLeavesPaddingOutOfTheMean) {
  const Window w{.batch = 1,
                 .height = 1,
                 .width = 3,
                 .channels = 1,
                 .rows = 1,
                 .columns = 2,
                 .out_height = 1,
                 .out_width = 2,
                 .out_channels = 1,
                 .stride_width = 2,
                 .pad_right = 1};
  const Values image{2, 4, 6};
  Values y(2);
  AvgPool(w, image.data(), y.data());
  EXPECT_EQ(y, (Values{3, 6}));
}

TEST(ReferenceKernels, MomentumFollowsItsFormula) {
  Values variable{1}, accumulator{2};
  const Values gradient{3};
  ApplyMomentum<double>(1, {.learning_rate = 0.5f, .momentum = 0.25f, .weight_decay = 2},
                        gradient.data(), accumulator.data(), variable.data());
  EXPECT_EQ(accumulator[0], 0.25 * 2 + (3 + 2 * 1));
  EXPECT_EQ(variable[0], 1 - 0.5 * 5.5);
}

TEST(WindowGeometry, SamePaddingPutsTheOddCellAtTheEnd) {
  Node node;
  node.attributes = {{"strides", std::vector<int64_t>{2, 2}},
                     {"padding", std::string("SAME")},
                     {"ksize", std::vector<int64_t>{3, 2}}};
  const Window w =
      PoolingWindow(node, {1, 6, 7, 1});  // Rows: 6 in steps of 2 under 3 -> one row of padding.
  EXPECT_EQ(w.out_height, 3);
  EXPECT_EQ(w.out_width, 4);
  EXPECT_EQ(w.pad_top, 0);
  EXPECT_EQ(w.pad_bottom, 1);
  EXPECT_EQ(w.pad_left, 0);
  EXPECT_EQ(w.pad_right, 1);
}

}  // namespace
}  // namespace cosched::reference
