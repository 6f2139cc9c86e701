#pragma once
// Small models of every op family, as the fuzzer's first inputs: valid ones, and some to be
// refused. They are made here rather than stored, so that they can be read.

#include <string>
#include <vector>

#include "tests/engine/graph/readers/graphdef_writer.h"
#include "tests/engine/graph/readers/onnx_writer.h"

namespace cosched {

inline std::vector<std::string> OnnxSeeds() {
  using Dims = OnnxWriter::Dims;
  const std::vector<float> values(64, 0.5f);
  const auto part = [&](size_t count) {
    return std::vector<float>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
  };
  OnnxWriter convolutions(13);
  convolutions.Input("x", {-1, 2, 5, 5}).Floats("w", {4, 1, 2, 2}, part(16));
  convolutions.Floats("b", {4}, part(4)).Floats("t", {4, 1, 2, 2}, part(16)).Output("y");
  convolutions.Node("Conv", {"x", "w", "b"}, "c").With("group", int64_t{2});
  convolutions.With("pads", Dims{1, 0, 1, 0}).With("strides", Dims{2, 1});
  convolutions.Node("BatchNormalization", {"c", "b", "b", "b", "b"}, "n").Node("Relu", {"n"}, "r");
  convolutions.Node("ConvTranspose", {"r", "t"}, "d").With("group", int64_t{2});
  convolutions.With("output_padding", Dims{1, 0}).With("strides", Dims{2, 1});
  convolutions.Node("LRN", {"d"}, "l").With("size", int64_t{3}).Node("Sigmoid", {"l"}, "y");

  OnnxWriter pools(14);
  pools.Input("x", {2, 3, 7, 7}).Ints("p", {8}, {0, 0, 1, 1, 0, 0, 1, 1}).Output("y");
  pools.Floats("w", {4, 3}, part(12)).Floats("b", {4}, part(4));
  pools.Node("Pad", {"x", "p"}, "q").Node("AveragePool", {"q"}, "a");
  pools.With("kernel_shape", Dims{3, 3}).With("strides", Dims{2, 2}).With("ceil_mode", int64_t{1});
  pools.Node("MaxPool", {"a"}, "m").With("kernel_shape", Dims{2, 2}).With("auto_pad", "SAME_LOWER");
  pools.Node("GlobalAveragePool", {"m"}, "g").Node("Flatten", {"g"}, "f");
  pools.Node("Gemm", {"f", "w", "b"}, "e").With("transB", int64_t{1}).Node("Softmax", {"e"}, "y");

  OnnxWriter chains(11);
  chains.Input("x", {-1, 2, 3, 4}).Ints("zero", {}, {0}).Ints("minus", {1}, {-1}).Output("y");
  chains.Floats("six", {}, {6}).Floats("none", {}, {0}).Ints("one", {1}, {1}).Ints("two", {1}, {2});
  chains.Node("Shape", {"x"}, "s").Node("Gather", {"s", "zero"}, "n");
  chains.Node("Unsqueeze", {"n"}, "u").With("axes", Dims{0});
  chains.Node("Concat", {"u", "minus"}, "d").With("axis", int64_t{0});
  chains.Node("Slice", {"x", "one", "two", "one"}, "part");
  chains.Node("Concat", {"x", "part"}, "joined").With("axis", int64_t{1});
  chains.Node("Transpose", {"joined"}, "t").With("perm", Dims{0, 2, 3, 1});
  chains.Node("Clip", {"t", "none", "six"}, "c").Node("HardSigmoid", {"c"}, "h");
  chains.Node("Mul", {"c", "h"}, "m").Node("ReduceMean", {"m"}, "r").With("axes", Dims{1});
  chains.Node("ConstantOfShape", {"one"}, "fill").Node("Add", {"r", "fill"}, "a");
  chains.Node("Reshape", {"a", "d"}, "y");

  OnnxWriter norms(20);
  norms.Input("x", {-1, 2, 3, 4}).Floats("s", {2}, part(2)).Floats("w", {2, 8}, part(16));
  norms.Floats("two", {}, {2}).Output("y").Node("Transpose", {"x"}, "t");
  norms.With("perm", Dims{0, 2, 3, 1}).Node("LayerNormalization", {"t", "s", "s"}, "n");
  norms.Node("MatMul", {"n", "w"}, "p").Node("Gelu", {"p"}, "g").Node("Erf", {"g"}, "e");
  norms.Node("Pow", {"e", "two"}, "q").Node("Sqrt", {"q"}, "y");
  return {convolutions.Bytes(), pools.Bytes(), chains.Bytes(), norms.Bytes()};
}

inline std::vector<std::string> GraphDefSeeds() {
  GraphDefWriter convolutions;
  const std::vector<float> half(36, 0.5f);
  convolutions.Placeholder("x", {-1, 6, 6, 2}).Floats("w", {3, 3, 2, 2}, half);
  convolutions.Floats("b", {2}, {1, 2}).Floats("v", {3, 3, 2, 1}, {0.5f});
  convolutions.Node("Conv2D", "c", {"x", "w"}).With("strides", {1, 1, 1, 1});
  convolutions.With("padding", "SAME").Node("BiasAdd", "a", {"c", "b"});
  convolutions.Node("DepthwiseConv2dNative", "d", {"a", "v"}).With("strides", {1, 2, 2, 1});
  convolutions.With("padding", "VALID").Node("Relu6", "r", {"d"});
  convolutions.Node("MaxPool", "m", {"r"}).With("ksize", {1, 2, 2, 1});
  convolutions.With("strides", {1, 1, 1, 1}).With("padding", "SAME");
  convolutions.Node("FusedBatchNormV3", "n", {"m", "b", "b", "b", "b"});
  convolutions.With("is_training", false);

  GraphDefWriter shapes;
  shapes.Placeholder("x", {2, 3, 4, 2}).Ints("zero", {1}, {0}).Ints("one", {1}, {1});
  shapes.Ints("eight", {}, {24}).Floats("w", {24, 3}, {0.25f}).Ints("axes", {2}, {1, 2});
  shapes.Node("Shape", "s", {"x"}).Node("StridedSlice", "n", {"s", "zero", "one", "one"});
  shapes.With("shrink_axis_mask", 1).Node("Pack", "d", {"n", "eight"});
  shapes.Node("Reshape", "f", {"x", "d"})
      .Node("MatMul", "m", {"f", "w"})
      .Node("Softmax", "y", {"m"});
  shapes.Node("Mean", "z", {"x", "axes"});
  return {convolutions.Bytes(), shapes.Bytes()};
}

// Models that ask for too much, or for nothing many times: what limits are there for.
inline std::vector<std::string> OnnxRefused() {
  using Dims = OnnxWriter::Dims;
  OnnxWriter doubling(13);
  doubling.Input("x", {1, 2, 3, 3}).Output("v19");
  for (int i = 0; i < 20; ++i) {
    const std::string last = i == 0 ? "x" : "v" + std::to_string(i - 1);
    doubling.Node("Concat", {last, last}, "v" + std::to_string(i)).With("axis", int64_t{1});
  }
  OnnxWriter nothing(13);
  nothing.Input("x", {1, 2}).Output("y").Floats("e", {1 << 20, 1 << 20, 0}, {});
  nothing.Ints("none", {0}, {}).Node("Gather", {"e", "none"}, "g").With("axis", int64_t{1});
  nothing.Node("Shape", {"g"}, "s").Node("Reshape", {"x", "s"}, "y");
  OnnxWriter windows(13);
  windows.Input("x", {1, 1, 65535, 16}).Output("y");
  windows.Node("AveragePool", {"x"}, "a").With("kernel_shape", Dims{65535, 16});
  windows.With("pads", Dims{65534, 15, 65534, 15}).With("count_include_pad", int64_t{1});
  windows.Node("GlobalMaxPool", {"a"}, "m").Node("Sigmoid", {"m"}, "y");
  OnnxWriter constants(13);
  constants.Input("x", {1, 4}).Output("y").Ints("s", {2}, {4096, 4096}).Ints("o", {1}, {1});
  constants.Node("ConstantOfShape", {"s"}, "c").Node("Exp", {"c"}, "e");
  constants.Node("Transpose", {"e"}, "t").Node("MatMul", {"x", "t"}, "y");
  return {doubling.Bytes(), nothing.Bytes(), windows.Bytes(), constants.Bytes()};
}

inline std::vector<std::string> GraphDefRefused() {
  GraphDefWriter repeated;
  repeated.Placeholder("x", {1, 1}).Floats("c", {1 << 16}, {1}).Node("Add", "a", {"x", "c"});
  repeated.Ints("axis", {}, {0}).Node("ConcatV2", "y", {"a", "a", "axis"});
  GraphDefWriter padded;
  padded.Placeholder("x", {1, 3, 3, 2}).Floats("w", {3, 3, 2, 1}, {1});
  padded.Node("Conv2D", "y", {"x", "w"}).With("strides", {1, 1, 1, 1}).With("padding", "EXPLICIT");
  padded.With("explicit_paddings", {0, 0, 65535, 65535, 65535, 65535, 0, 0});
  GraphDefWriter cycle;
  cycle.Placeholder("x", {1, 2}).Node("Add", "a", {"x", "b"}).Node("Relu", "b", {"a"});
  cycle.Node("Relu", "y", {"b"});
  return {repeated.Bytes(), padded.Bytes(), cycle.Bytes()};
}

}  // namespace cosched
