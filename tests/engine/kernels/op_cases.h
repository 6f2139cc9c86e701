#pragma once
// Every op in awkward shapes (no multiple of anything) and in those of ResNet-20 and LeNet, both
// paddings.

#include <set>
#include <span>

#include "tests/engine/kernels/kernel_fixture.h"

namespace cosched::testing {

using Ints = std::vector<int64_t>;

struct WindowCase {
  std::string name;
  Shape image;
  int64_t window;  // Rows; columns are the same unless the case says otherwise.
  int64_t columns;
  int64_t out_channels;
  int64_t stride;
  std::string padding;
  Ints explicit_paddings = {};
  Ints dilations = {1, 1};
  int64_t groups = 1;

  std::map<std::string, Attribute> Attributes() const {
    return {{"strides", Ints{stride, stride}},
            {"padding", padding},
            {"explicit_paddings", explicit_paddings}};
  }
};

// As the graph infers it.
inline Shape OutputShape(const std::string& op, const std::vector<Shape>& inputs,
                         const std::map<std::string, Attribute>& attributes) {
  Graph graph;
  std::vector<Output> outputs;
  for (const Shape& shape : inputs)
    outputs.push_back({graph.Add("Placeholder", "", {}, {{"shape", shape.Sizes()}})});
  return graph.Info({graph.Add(op, "", outputs, attributes)}).shape;
}

inline void AddConvolutions(std::vector<OpCase>* cases) {
  const std::vector<WindowCase> windows = {
      {"odd_same", {3, 7, 5, 13}, 3, 3, 11, 1, "SAME"},
      {"odd_same_stride2", {3, 7, 6, 13}, 3, 3, 11, 2, "SAME"},
      {"odd_valid_stride2", {3, 7, 5, 13}, 3, 3, 11, 2, "VALID"},
      {"even_window_same", {2, 6, 7, 3}, 4, 2, 5, 1, "SAME"},
      {"ragged_valid_stride3", {2, 12, 10, 5}, 5, 3, 7, 3, "VALID"},
      {"one_image", {1, 9, 9, 1}, 5, 5, 1, 1, "VALID"},
      {"lenet_1", {4, 28, 28, 1}, 5, 5, 6, 1, "SAME"},
      {"lenet_2", {4, 14, 14, 6}, 5, 5, 16, 1, "VALID"},
      {"resnet_first", {2, 32, 32, 3}, 3, 3, 16, 1, "SAME"},
      {"resnet_16", {2, 32, 32, 16}, 3, 3, 16, 1, "SAME"},
      {"resnet_down", {2, 32, 32, 16}, 3, 3, 32, 2, "SAME"},
      {"resnet_projection", {2, 16, 16, 32}, 1, 1, 64, 2, "SAME"},
      {"resnet_64", {3, 8, 8, 64}, 3, 3, 64, 1, "SAME"},
      {"winograd", {4, 17, 15, 64}, 3, 3, 80, 1, "SAME"},
      {"winograd_explicit", {5, 15, 14, 80}, 3, 3, 64, 1, "EXPLICIT", {2, 0, 0, 3}},
      {"winograd_blocks", {4, 56, 56, 32}, 3, 3, 32, 1, "SAME"},
      {"explicit", {2, 7, 6, 5}, 3, 2, 9, 2, "EXPLICIT", {0, 2, 1, 3}},
      {"explicit_wide", {2, 5, 4, 5}, 2, 3, 9, 1, "EXPLICIT", {3, 4, 5, 0}},
      {"dilated_same", {2, 9, 8, 13}, 3, 3, 11, 1, "SAME", {}, {2, 3}},
      {"dilated_stride2", {2, 11, 12, 5}, 3, 2, 7, 2, "EXPLICIT", {1, 2, 0, 1}, {3, 2}},
      {"grouped", {2, 7, 5, 12}, 3, 3, 18, 1, "SAME", {}, {1, 1}, 3},
      {"grouped_stride2", {2, 8, 7, 32}, 3, 3, 64, 2, "EXPLICIT", {0, 1, 1, 1}, {1, 1}, 2},
      {"depthwise", {2, 7, 5, 13}, 3, 3, 13, 1, "SAME", {}, {1, 1}, 13},
      {"depthwise_stride2", {3, 14, 14, 32}, 3, 3, 32, 2, "SAME", {}, {1, 1}, 32},
      {"depthwise_dilated", {2, 9, 9, 16}, 3, 3, 16, 1, "SAME", {}, {2, 2}, 16},
      {"depthwise_times_2", {2, 7, 5, 6}, 3, 3, 12, 1, "VALID", {}, {1, 1}, 6}};
  for (const WindowCase& c : windows) {
    const Shape filter{c.window, c.columns, c.image[3] / c.groups, c.out_channels};
    const Tensor x = RandomTensor(c.image, 1), f = RandomTensor(filter, 2);
    std::map<std::string, Attribute> attributes = c.Attributes();
    attributes["dilations"] = c.dilations;
    const Tensor dy = RandomTensor(OutputShape("Conv2D", {c.image, filter}, attributes), 3);
    cases->push_back({"Conv2D_" + c.name, "Conv2D", {x, f}, attributes});
    attributes["input_shape"] = c.image.Sizes();
    cases->push_back({"Conv2DBackpropInput_" + c.name, "Conv2DBackpropInput", {f, dy}, attributes});
    attributes.erase("input_shape");
    attributes["filter_shape"] = filter.Sizes();
    cases->push_back(
        {"Conv2DBackpropFilter_" + c.name, "Conv2DBackpropFilter", {x, dy}, attributes});
  }
}

// With ties, so that the first maximum matters: values are multiples of a quarter.
inline Tensor Coarse(const Shape& shape, uint64_t seed) {
  Tensor tensor = RandomTensor(shape, seed, -2, 2);
  for (int64_t i = 0; i < tensor.Elements(); ++i)
    tensor.Floats()[i] = std::round(tensor.Floats()[i] * 4) / 4;
  return tensor;
}

inline Tensor Forward(const OpCase& c) {
  TestPools pools({1, 1});
  OpRun run(c, pools, KernelBackend::kReference);
  run.Compute();
  return run.Outputs()[0];
}

inline void AddPoolings(std::vector<OpCase>* cases) {
  const std::vector<WindowCase> windows = {
      {"odd_same_overlapping", {3, 7, 5, 13}, 3, 3, 13, 2, "SAME"},
      {"odd_valid_overlapping", {3, 8, 5, 13}, 3, 2, 13, 2, "VALID"},
      {"dense_same", {2, 5, 6, 3}, 3, 3, 3, 1, "SAME"},
      {"odd_same_2", {2, 7, 7, 70}, 2, 2, 70, 2, "SAME"},
      {"lenet", {8, 28, 28, 6}, 2, 2, 6, 2, "VALID"},
      {"large", {4, 32, 32, 64}, 2, 2, 64, 2, "VALID"},
      {"explicit", {2, 8, 7, 13}, 3, 2, 13, 2, "EXPLICIT", {1, 2, 0, 1}}};
  for (const WindowCase& c : windows) {
    std::map<std::string, Attribute> attributes = c.Attributes();
    attributes["ksize"] = Ints{c.window, c.columns};
    const Tensor x = Coarse(c.image, 4);
    const Tensor dy = RandomTensor(OutputShape("MaxPool", {c.image}, attributes), 5);
    const OpCase forward{"MaxPool_" + c.name, "MaxPool", {x}, attributes};
    cases->push_back(forward);
    cases->push_back(
        {"MaxPoolGrad_" + c.name, "MaxPoolGrad", {x, Forward(forward), dy}, attributes});
    for (bool count_padding : {false, true}) {
      const std::string name = c.name + (count_padding ? "_counted" : "");
      attributes["count_padding"] = count_padding;
      cases->push_back({"AvgPool_" + name, "AvgPool", {x}, attributes});
      attributes["input_shape"] = c.image.Sizes();
      cases->push_back({"AvgPoolGrad_" + name, "AvgPoolGrad", {dy}, attributes});
      attributes.erase("input_shape");
    }
  }
}

inline void AddBatchNorms(std::vector<OpCase>* cases) {
  for (const Shape& image :
       {Shape{3, 7, 5, 13}, Shape{4, 32, 32, 16}, Shape{4, 16, 16, 32}, Shape{9, 8, 8, 64}}) {
    const Shape channels{image[3]};
    const Tensor x = RandomTensor(image, 6, -1, 3), dy = RandomTensor(image, 7);
    const Tensor scale = RandomTensor(channels, 8, 0.5, 2), offset = RandomTensor(channels, 9);
    const Tensor mean = RandomTensor(channels, 10), variance = RandomTensor(channels, 11, 0.5, 2);
    const std::string name = std::to_string(image[3]) + "_channels";
    for (bool training : {false, true})
      cases->push_back(
          {(training ? "FusedBatchNormV3_training_" : "FusedBatchNormV3_inference_") + name,
           "FusedBatchNormV3",
           {x, scale, offset, mean, variance},
           {{"epsilon", 1e-3f}, {"is_training", training}}});
    cases->push_back({"FusedBatchNormGradV3_" + name,
                      "FusedBatchNormGradV3",
                      {dy, x, scale, mean, variance},
                      {{"epsilon", 1e-3f}}});
  }
}

inline void AddMatrices(std::vector<OpCase>* cases) {
  struct Product {
    int64_t m, n, k;
  };
  for (const Product& p :
       {Product{3, 11, 13}, Product{32, 10, 64}, Product{33, 120, 401}, Product{1, 300, 7}}) {
    const std::string name =
        std::to_string(p.m) + "_" + std::to_string(p.n) + "_" + std::to_string(p.k);
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        cases->push_back({"MatMul_" + name + (ta ? "_ta" : "") + (tb ? "_tb" : ""),
                          "MatMul",
                          {RandomTensor(ta ? Shape{p.k, p.m} : Shape{p.m, p.k}, 12),
                           RandomTensor(tb ? Shape{p.n, p.k} : Shape{p.k, p.n}, 13)},
                          {{"transpose_a", ta}, {"transpose_b", tb}}});
  }
  for (const Shape& shape :
       {Shape{3, 7, 5, 13}, Shape{32, 28, 28, 6}, Shape{5, 10}, Shape{64, 1000}, Shape{1, 3}}) {
    const std::string name = std::to_string(shape.Elements());
    const Shape channels{shape[shape.Rank() - 1]};
    cases->push_back(
        {"BiasAdd_" + name, "BiasAdd", {RandomTensor(shape, 14), RandomTensor(channels, 15)}, {}});
    cases->push_back({"BiasAddGrad_" + name, "BiasAddGrad", {RandomTensor(shape, 16)}, {}});
  }
  for (const Shape& image : {Shape{3, 7, 5, 13}, Shape{32, 8, 8, 64}, Shape{1, 7, 7, 1024}}) {
    const std::string name = std::to_string(image.Elements());
    const Shape sums{image[0], image[3]};
    cases->push_back(
        {"Mean_image_" + name, "Mean", {RandomTensor(image, 17)}, {{"axes", Ints{1, 2}}}});
    cases->push_back({"Mean_all_" + name,
                      "Mean",
                      {RandomTensor(image, 18, 0, 1)},
                      {{"axes", Ints{0, 1, 2, 3}}}});
    cases->push_back({"MeanGrad_image_" + name,
                      "MeanGrad",
                      {RandomTensor(sums, 19)},
                      {{"axes", Ints{1, 2}}, {"input_shape", image.Sizes()}}});
    cases->push_back({"MeanGrad_all_" + name,
                      "MeanGrad",
                      {Tensor::Scalar(3)},
                      {{"axes", Ints{0, 1, 2, 3}}, {"input_shape", image.Sizes()}}});
  }
}

inline void AddElementwise(std::vector<OpCase>* cases) {
  for (const Shape& shape : {Shape{7}, Shape{3, 7, 5, 13}, Shape{8, 32, 32, 16}}) {
    const std::string name = std::to_string(shape.Elements());
    const Tensor a = RandomTensor(shape, 20), b = RandomTensor(shape, 21),
                 c = RandomTensor(shape, 22);
    cases->push_back({"Relu_" + name, "Relu", {a}, {}});
    cases->push_back({"ReluGrad_" + name, "ReluGrad", {a, Coarse(shape, 23)}, {}});
    for (const char* op : {"Relu6", "Sigmoid", "HardSwish"}) {
      const Tensor x = RandomTensor(shape, 31, -8, 8);
      const OpCase forward{op + ("_" + name), op, {x}, {}};
      cases->push_back(forward);
      const bool of_input = std::string(op) == "HardSwish";
      cases->push_back({std::string(op) + "Grad_" + name,
                        std::string(op) + "Grad",
                        {a, of_input ? x : Forward(forward)},
                        {}});
    }
    for (const char* op : {"Erf", "Gelu"})
      cases->push_back({op + ("_" + name), op, {RandomTensor(shape, 45, -5, 5)}, {}});
    cases->push_back({"ErfGrad_" + name, "ErfGrad", {a, RandomTensor(shape, 46, -3, 3)}, {}});
    cases->push_back({"Sqrt_" + name, "Sqrt", {RandomTensor(shape, 47, 0, 9)}, {}});
    const OpCase clip{"ClipByValue_" + name, "ClipByValue", {a}, {{"min", -0.3f}, {"max", 0.7f}}};
    cases->push_back(clip);
    cases->push_back(
        {"ClipByValueGrad_" + name, "ClipByValueGrad", {b, Forward(clip)}, clip.attributes});
    cases->push_back({"AddV2_" + name, "AddV2", {a, b}, {}});
    cases->push_back({"Sub_" + name, "Sub", {a, b}, {}});
    cases->push_back({"RealDiv_" + name, "RealDiv", {a, RandomTensor(shape, 32, 0.5, 2)}, {}});
    cases->push_back({"AddN1_" + name, "AddN", {a}, {}});
    cases->push_back({"AddN4_" + name, "AddN", {a, b, c, a}, {}});
    cases->push_back({"Mul_" + name, "Mul", {a, b}, {}});
    cases->push_back({"Mul_scalar_" + name, "Mul", {a, Tensor::Scalar(-2.5f)}, {}});
    cases->push_back(
        {"AssignMovingAverage_" + name, "AssignMovingAverage", {a, b}, {{"decay", 0.9f}}});
    cases->push_back({"ApplyMomentum_" + name,
                      "ApplyMomentum",
                      {a, b, c},
                      {{"learning_rate", 0.1f}, {"momentum", 0.9f}, {"weight_decay", 1e-2f}}});
  }
}

inline void AddCasts(std::vector<OpCase>* cases) {
  const Tensor x = RandomTensor({3, 7, 5, 13}, 44);
  cases->push_back({"Cast_down", "Cast", {x}, {{"dtype", "bfloat16"}}});
  cases->push_back({"Cast_up", "Cast", {x.ConvertedTo(DataType::kBFloat16)}, {{"dtype", "float"}}});
}

inline void AddBroadcasts(std::vector<OpCase>* cases) {
  struct Pair {
    std::string name;
    Shape a, b;
  };
  const std::vector<Pair> pairs = {{"by_scalar", {3, 7, 5, 13}, {}},
                                   {"scalar_by", {}, {3, 7, 5, 13}},
                                   {"by_channel", {3, 7, 5, 13}, {13}},
                                   {"channels_by", {13}, {3, 7, 5, 13}},
                                   {"by_image_and_channel", {3, 7, 5, 13}, {3, 1, 1, 13}},
                                   {"by_pixel", {3, 7, 5, 13}, {3, 7, 5, 1}},
                                   {"outer", {6, 1, 4, 1}, {3, 1, 5}},
                                   {"large", {9, 31, 33, 16}, {9, 1, 1, 16}},
                                   {"six", {2, 1, 3, 1, 2, 1}, {1, 3, 1, 2, 1, 3}}};
  for (const Pair& p : pairs) {
    const Tensor a = RandomTensor(p.a, 33), b = RandomTensor(p.b, 34, 0.5, 2);
    for (const char* op : {"AddV2", "Sub", "Mul", "RealDiv"})
      cases->push_back({op + ("_" + p.name), op, {a, b}, {}});
  }
}

inline void AddArrays(std::vector<OpCase>* cases) {
  const Shape image{3, 7, 5, 13};
  const Tensor x = RandomTensor(image, 35);
  for (int64_t axis = 0; axis < 4; ++axis) {
    std::vector<int64_t> other = image.Sizes();
    other[static_cast<size_t>(axis)] = 4;
    cases->push_back({"ConcatV2_axis" + std::to_string(axis),
                      "ConcatV2",
                      {x, RandomTensor(Shape(other), 36), x},
                      {{"axis", axis}}});
  }
  cases->push_back({"ConcatV2_one", "ConcatV2", {x}, {{"axis", int64_t{2}}}});
  cases->push_back({"ConcatV2_inception",
                    "ConcatV2",
                    {RandomTensor({4, 28, 28, 64}, 37), RandomTensor({4, 28, 28, 96}, 38)},
                    {{"axis", int64_t{3}}}});
  const auto slice = [&](const std::string& name, const Ints& begin, const Ints& size) {
    cases->push_back({"Slice_" + name, "Slice", {x}, {{"begin", begin}, {"size", size}}});
  };
  slice("channels", {0, 0, 0, 4}, {3, 7, 5, 6});
  slice("images", {1, 0, 0, 0}, {2, 7, 5, 13});
  slice("inside", {1, 2, 1, 5}, {1, 3, 4, 7});
  const auto pad = [&](const std::string& name, const Ints& paddings, float value) {
    cases->push_back({"Pad_" + name, "Pad", {x}, {{"paddings", paddings}, {"value", value}}});
  };
  pad("image", {0, 0, 1, 2, 3, 0, 0, 0}, 0);
  pad("all", {2, 1, 0, 1, 1, 1, 3, 2}, -1.5f);
  pad("nothing", {0, 0, 0, 0, 0, 0, 0, 0}, 1);
  for (const Ints& perm :
       {Ints{0, 3, 1, 2}, Ints{0, 2, 3, 1}, Ints{3, 2, 1, 0}, Ints{0, 1, 2, 3}}) {
    std::string name = "Transpose";
    for (int64_t dimension : perm) name += "_" + std::to_string(dimension);
    cases->push_back({name, "Transpose", {x}, {{"perm", perm}}});
  }
  cases->push_back(
      {"Transpose_matrix", "Transpose", {RandomTensor({301, 517}, 39)}, {{"perm", Ints{1, 0}}}});
  cases->push_back({"Transpose_six",
                    "Transpose",
                    {RandomTensor({2, 3, 4, 5, 2, 3}, 40)},
                    {{"perm", Ints{5, 1, 3, 0, 4, 2}}}});
  for (const Ints& axes : {Ints{0}, Ints{3}, Ints{0, 2}, Ints{1, 3}, Ints{2, 1, 0}}) {
    for (bool keep : {false, true}) {
      std::string name = keep ? "_kept" : "";
      for (int64_t axis : axes) name += "_" + std::to_string(axis);
      std::map<std::string, Attribute> attributes{{"axes", axes}, {"keep_dims", keep}};
      cases->push_back({"Mean" + name, "Mean", {x}, attributes});
      const Tensor dy = RandomTensor(OutputShape("Mean", {image}, attributes), 41);
      attributes["input_shape"] = image.Sizes();
      cases->push_back({"MeanGrad" + name, "MeanGrad", {dy}, attributes});
    }
  }
}

inline void AddLocalResponses(std::vector<OpCase>* cases) {
  for (const Shape& shape : {Shape{2, 3, 5, 13}, Shape{2, 14, 14, 64}, Shape{3, 2, 2, 3}}) {
    const std::string name = std::to_string(shape.Elements());
    const OpCase forward{
        "LRN_" + name,
        "LRN",
        {RandomTensor(shape, 42, -2, 2)},
        {{"depth_radius", int64_t{2}}, {"bias", 1.5f}, {"alpha", 0.3f}, {"beta", 0.75f}}};
    cases->push_back(forward);
    cases->push_back({"LRNGrad_" + name,
                      "LRNGrad",
                      {RandomTensor(shape, 43), forward.inputs[0], Forward(forward)},
                      forward.attributes});
  }
}

inline void AddLosses(std::vector<OpCase>* cases) {
  for (const Shape& shape : {Shape{3, 10}, Shape{32, 10}, Shape{70, 1000}}) {
    const std::string name = std::to_string(shape.Elements());
    std::vector<int32_t> labels;
    for (int64_t row = 0; row < shape[0]; ++row)
      labels.push_back(static_cast<int32_t>(row * 7 % shape[1]));
    const Tensor logits = RandomTensor(shape, 24, -30, 30);
    cases->push_back({"Softmax_" + name, "Softmax", {logits}, {}});
    cases->push_back({"SparseSoftmaxCrossEntropyWithLogits_" + name,
                      "SparseSoftmaxCrossEntropyWithLogits",
                      {logits, Tensor::Of({shape[0]}, std::span<const int32_t>(labels))},
                      {}});
  }
}

inline const std::vector<OpCase>& AllCases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<OpCase> all;
    AddConvolutions(&all);
    AddPoolings(&all);
    AddBatchNorms(&all);
    AddMatrices(&all);
    AddElementwise(&all);
    AddCasts(&all);
    AddBroadcasts(&all);
    AddArrays(&all);
    AddLocalResponses(&all);
    AddLosses(&all);
    return all;
  }();
  return cases;
}

// Each op with its cases: one test an op, since each is a process of its own that draws them all.
inline std::vector<std::string> OpsWithCases() {
  std::set<std::string> ops;
  for (const OpCase& c : AllCases()) ops.insert(c.op);
  return {ops.begin(), ops.end()};
}

inline std::vector<OpCase> CasesOf(const std::string& op) {
  std::vector<OpCase> cases;
  for (const OpCase& c : AllCases()) {
    if (c.op == op) cases.push_back(c);
  }
  return cases;
}

}  // namespace cosched::testing
