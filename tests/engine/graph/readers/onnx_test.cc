// Networks of ONNX files give what ONNX's definitions of their ops say, and bad files are told by
// node and op.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/engine/graph/readers/onnx_writer.h"
#include "tests/engine/graph/readers/read_and_run.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;
using ::testing::FloatNear;
using ::testing::Pointwise;

Array RunOnnx(const OnnxWriter& writer, const std::vector<Array>& inputs) {
  return RunFile(*ParseOnnx(writer.Bytes(), "test.onnx"), inputs)[0];
}

void ExpectArray(const Array& result, const Dims& dims, const std::vector<float>& values) {
  EXPECT_EQ(result.dims, dims);
  EXPECT_THAT(result.values, Pointwise(FloatNear(1e-5f), values));
}

// The features of an image, flattened channels first, against a plain product: the matrix is put
// into the order in which the image is held.
TEST(Onnx, FlattenedImagesMeetTheRightRows) {
  OnnxWriter writer;
  const std::vector<float> weights = Ramp(2 * 3 * 2 * 4);
  writer.Input("x", {-1, 2, 3, 2}).Floats("w", {12, 4}, weights).Output("y");
  writer.Node("Relu", {"x"}, "r").Node("Flatten", {"r"}, "f").Node("MatMul", {"f", "w"}, "y");
  const std::vector<float> images = Ramp(2 * 12, 0.3f);
  std::vector<float> expected;
  for (size_t n = 0; n < 2; ++n) {
    for (size_t k = 0; k < 4; ++k) {
      float sum = 0;
      for (size_t i = 0; i < 12; ++i) {
        sum += std::max(images[12 * n + i], 0.0f) * weights[4 * i + k];
      }
      expected.push_back(sum);
    }
  }
  ExpectArray(RunOnnx(writer, {{{2, 2, 3, 2}, images}}), {2, 4}, expected);
}

TEST(Onnx, AnUnknownOpIsNamed) {
  OnnxWriter writer;
  writer.Input("x", {1, 2}).Node("Zap", {"x"}, "y").Output("y");
  const auto file = ParseOnnx(writer.Bytes(), "test.onnx");
  try {
    RunFile(*file, {{{1, 2}, {1, 2}}});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("test.onnx: node \"y_node\" (Zap): unknown op"));
  }
}

}  // namespace
}  // namespace cosched
