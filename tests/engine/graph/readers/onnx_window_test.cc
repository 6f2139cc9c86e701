// Convolutions and pools of ONNX files against loops that follow their definitions, at odd shapes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/graph/readers/naive.h"
#include "tests/engine/graph/readers/onnx_writer.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;
using ::testing::FloatNear;
using ::testing::Pointwise;

void ExpectSame(const Array& result, const Array& expected) {
  EXPECT_EQ(result.dims, expected.dims);
  EXPECT_THAT(result.values, Pointwise(FloatNear(1e-4f), expected.values));
}

struct ConvCase {
  Dims image, filter;
  NaiveWindow window;
};

TEST(OnnxWindow, Convolutions) {
  const std::vector<ConvCase> cases = {
      {{2, 3, 7, 5}, {4, 3, 3, 3}, {.strides = {2, 1}, .pads = {1, 0, 2, 1}}},
      {{1, 4, 6, 9}, {6, 2, 2, 3}, {.dilations = {2, 3}, .pads = {0, 2, 0, 2}, .groups = 2}},
      {{2, 5, 5, 5}, {10, 1, 3, 3}, {.pads = {1, 1, 1, 1}, .groups = 5}},  // Depthwise, twice.
      {{1, 2, 2, 3}, {1, 2, 2, 2}, {.pads = {3, 0, 1, 2}}},  // Windows on padding alone.
      {{1, 3, 4, 4}, {2, 3, 1, 1}, {.strides = {3, 3}}}};
  for (const ConvCase& c : cases) {
    const Array image{c.image, Ramp(ElementCount(c.image))};
    const Array filter{c.filter, Ramp(ElementCount(c.filter), 0.07f)};
    OnnxWriter writer;
    writer.Input("x", c.image).Floats("w", c.filter, filter.values).Output("y");
    writer.Node("Conv", {"x", "w"}, "y").With("strides", c.window.strides);
    writer.With("dilations", c.window.dilations).With("pads", c.window.pads);
    writer.With("group", c.window.groups);
    ExpectSame(RunFile(*ParseOnnx(writer.Bytes(), "t"), {image})[0],
               NaiveConv(image, filter, c.window));
  }
}

TEST(OnnxWindow, TransposedConvolutions) {
  const std::vector<ConvCase> cases = {
      {{2, 3, 4, 3},
       {3, 2, 3, 3},
       {.strides = {2, 2}, .pads = {1, 1, 1, 1}, .output_padding = {1, 0}}},
      {{1, 4, 3, 2}, {4, 3, 2, 3}, {.strides = {3, 1}, .dilations = {1, 2}, .groups = 2}},
      {{1, 2, 5, 5}, {2, 1, 4, 4}, {.strides = {2, 2}, .pads = {0, 1, 2, 1}}}};
  for (const ConvCase& c : cases) {
    const Array image{c.image, Ramp(ElementCount(c.image))};
    const Array filter{c.filter, Ramp(ElementCount(c.filter), 0.07f)};
    OnnxWriter writer;
    writer.Input("x", c.image).Floats("w", c.filter, filter.values).Output("y");
    writer.Node("ConvTranspose", {"x", "w"}, "y").With("strides", c.window.strides);
    writer.With("dilations", c.window.dilations).With("pads", c.window.pads);
    writer.With("group", c.window.groups).With("output_padding", c.window.output_padding);
    ExpectSame(RunFile(*ParseOnnx(writer.Bytes(), "t"), {image})[0],
               NaiveConvTranspose(image, filter, c.window));
  }
}

TEST(OnnxWindow, PaddingByItself) {
  // 6 rows by strides of 2 with windows of 3 need one row of padding, 5 columns two columns.
  const Array image{{1, 2, 6, 5}, Ramp(60)};
  const Array filter{{3, 2, 3, 3}, Ramp(54)};
  for (const auto& [name, pads] : std::vector<std::pair<const char*, Dims>>{
           {"SAME_UPPER", {0, 1, 1, 1}}, {"SAME_LOWER", {1, 1, 0, 1}}, {"VALID", {0, 0, 0, 0}}}) {
    OnnxWriter writer;
    writer.Input("x", image.dims).Floats("w", filter.dims, filter.values).Output("y");
    writer.Node("Conv", {"x", "w"}, "y").With("strides", Dims{2, 2}).With("auto_pad", name);
    ExpectSame(RunFile(*ParseOnnx(writer.Bytes(), "t"), {image})[0],
               NaiveConv(image, filter, {.strides = {2, 2}, .pads = pads}));
  }
}

TEST(OnnxWindow, ConvolutionsTakeZeroPaddingBeforeThem) {
  const Array image{{1, 2, 4, 5}, Ramp(40)};
  const Array filter{{3, 2, 3, 3}, Ramp(54)};
  OnnxWriter writer;
  writer.Input("x", image.dims).Floats("w", filter.dims, filter.values).Output("y");
  writer.Ints("pads", {8}, {0, 0, 1, 2, 0, 0, 0, 1});
  writer.Node("Pad", {"x", "pads"}, "p").Node("Conv", {"p", "w"}, "y");
  writer.With("pads", Dims{1, 0, 0, 0});
  ExpectSame(RunFile(*ParseOnnx(writer.Bytes(), "t"), {image})[0],
             NaiveConv(image, filter, {.pads = {2, 2, 0, 1}}));
}

struct PoolCase {
  Dims image;
  NaiveWindow window;
};

class OnnxPool : public testing::TestWithParam<NaivePool> {};

TEST_P(OnnxPool, LikeItsDefinition) {
  const std::vector<PoolCase> cases = {
      {{2, 3, 7, 6}, {.kernel = {3, 2}, .strides = {2, 2}, .pads = {1, 0, 1, 1}}},
      {{1, 2, 6, 6}, {.kernel = {3, 3}, .strides = {2, 2}}},
      {{1, 1, 5, 8}, {.kernel = {2, 3}, .strides = {3, 3}, .pads = {0, 1, 1, 2}}},
      {{1, 2, 4, 4}, {.kernel = {2, 2}, .strides = {2, 2}, .pads = {1, 1, 1, 1}}}};
  const NaivePool pool = GetParam();
  for (const PoolCase& c : cases) {
    const Array image{c.image, Ramp(ElementCount(c.image))};
    OnnxWriter writer;
    writer.Input("x", c.image).Output("y");
    writer.Node(pool.average ? "AveragePool" : "MaxPool", {"x"}, "y");
    writer.With("kernel_shape", c.window.kernel).With("strides", c.window.strides);
    writer.With("pads", c.window.pads).With("ceil_mode", int64_t{pool.ceil_mode});
    if (pool.average) writer.With("count_include_pad", int64_t{pool.count_include_pad});
    ExpectSame(RunFile(*ParseOnnx(writer.Bytes(), "t"), {image})[0],
               NaivePooled(image, c.window, pool));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OnnxPool,
    testing::Values(NaivePool{.average = false}, NaivePool{.average = false, .ceil_mode = true},
                    NaivePool{.average = true}, NaivePool{.average = true, .ceil_mode = true},
                    NaivePool{.average = true, .count_include_pad = true},
                    NaivePool{.average = true, .ceil_mode = true, .count_include_pad = true}));

// Inception's exporters pad first and then take means that count the zeros.
TEST(OnnxWindow, MeansCountZerosThatWerePaddedBefore) {
  const Array image{{1, 2, 4, 5}, Ramp(40)};
  OnnxWriter writer;
  writer.Input("x", image.dims).Ints("pads", {8}, {0, 0, 1, 1, 0, 0, 1, 1}).Output("y");
  writer.Node("Pad", {"x", "pads"}, "p").Node("AveragePool", {"p"}, "y");
  writer.With("kernel_shape", Dims{3, 3});
  ExpectSame(RunFile(*ParseOnnx(writer.Bytes(), "t"), {image})[0],
             NaivePooled(image, {.kernel = {3, 3}, .pads = {1, 1, 1, 1}},
                         {.average = true, .count_include_pad = true}));
}

TEST(OnnxWindow, MaximaSeeZerosThatWerePaddedBefore) {
  const Array image{{1, 1, 2, 2}, {-1, -2, -3, -4}};
  OnnxWriter writer;
  writer.Input("x", image.dims).Ints("pads", {8}, {0, 0, 1, 0, 0, 0, 0, 0}).Output("y");
  writer.Node("Pad", {"x", "pads"}, "p").Node("MaxPool", {"p"}, "y");
  writer.With("kernel_shape", Dims{2, 2});
  ExpectSame(RunFile(*ParseOnnx(writer.Bytes(), "t"), {image})[0], {{1, 1, 2, 1}, {0, -1}});
}

}  // namespace
}  // namespace cosched
