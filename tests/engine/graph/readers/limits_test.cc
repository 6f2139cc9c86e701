// Small files that ask for much: what they may not have is refused at once, by a message that names
// the node; what they may have is built, optimised and planned without the memory or the time that
// its size suggests. None of these tests allocates what the files ask for: those that must not be
// refused would otherwise be seen by the sanitizers' and the test's own time limits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/base/error.h"
#include "engine/graph/optimizer.h"
#include "engine/graph/readers/build_limits.h"
#include "engine/session/session.h"
#include "tests/engine/graph/readers/graphdef_writer.h"
#include "tests/engine/graph/readers/onnx_writer.h"
#include "tests/engine/graph/readers/read_and_run.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;
using ::testing::HasSubstr;

// Built and optimised; the message, or "" where all is well.
std::string Message(const ModelFile& file, const BuildSettings& settings = {}) {
  Graph graph, optimised;
  GraphBuilder builder(&graph);
  std::vector<Output> inputs;
  for (const auto& input : file.Inputs(settings.batch)) {
    inputs.push_back(builder.Placeholder("feed " + input.name, input.Ours()));
  }
  std::vector<std::string> fetches;
  for (const auto& built : file.Build(&builder, inputs, settings)) {
    fetches.push_back(graph.At(built.output.node).name);
  }
  if (!settings.training) {
    OptimizeForInference(graph, fetches, {}, &optimised);
    optimised.Build();
  }
  return "";
}

std::string OnnxMessage(const OnnxWriter& writer, const BuildSettings& settings = {}) {
  try {
    return Message(*ParseOnnx(writer.Bytes(), "test.onnx"), settings);
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().file, "test.onnx");
    return error.what();
  }
}

std::string GraphDefMessage(const GraphDefWriter& writer) {
  try {
    return Message(*ParseGraphDef(writer.Bytes(), "test.pb"));
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().file, "test.pb");
    return error.what();
  }
}

// "a", "b", … joined by one-input nodes; the last is y.
template <typename AddNode>
void Chain(int length, AddNode add) {
  std::string last = "x";
  for (int i = 0; i < length; ++i) {
    const std::string next = i + 1 == length ? "y" : "v" + std::to_string(i);
    add(last, next);
    last = next;
  }
}

struct LargeModel {
  const char* name;
  Dims input;
  std::function<void(OnnxWriter&)> add;  // Nodes from x to y.
  const char* message;                   // Empty: it is built.
};

void PrintTo(const LargeModel& model, std::ostream* stream) { *stream << model.name; }

class OnnxLimit : public testing::TestWithParam<LargeModel> {};

TEST_P(OnnxLimit, IsKept) {
  OnnxWriter writer;
  writer.Input("x", GetParam().input).Output("y");
  GetParam().add(writer);
  const std::string message = OnnxMessage(writer);
  if (*GetParam().message == '\0') {
    EXPECT_EQ(message, "");
  } else {
    EXPECT_THAT(message, HasSubstr(GetParam().message));
  }
}

constexpr int64_t kMany = 1 << 20;

const LargeModel kLargeModels[] = {
    {"large input",
     {1, 3, 1 << 17, 1 << 17},
     [](OnnxWriter& w) { w.Node("GlobalAveragePool", {"x"}, "y"); },
     "input \"x\" of [1,3,131072,131072] is large: with it, inputs take 206158430208 bytes"},
    {"input of overflowing size",
     {1, INT32_MAX, INT32_MAX, INT32_MAX},
     [](OnnxWriter& w) { w.Node("Relu", {"x"}, "y"); },
     "is large: with it, inputs take 3961408"},
    {"large batch of its own",
     {INT32_MAX, 2, 3, 3},
     [](OnnxWriter& w) { w.Node("Relu", {"x"}, "y"); },
     "input \"x\" of [2147483647,2,3,3]"},
    {"large output",
     {1, 1, 3, 3},
     [](OnnxWriter& w) {
       w.Ints("p", {8}, {0, 0, 9000, 9000, 0, 0, 0, 0}).Node("Pad", {"x", "p"}, "y");
     },
     "output \"y\" is large: with it, outputs take 324216036 bytes an image"},
    {"large values between",
     {1, 1, 3, 3},
     [](OnnxWriter& w) {
       w.Ints("p", {8}, {0, 0, 15000, 15000, 0, 0, 0, 0}).Node("Pad", {"x", "p"}, "padded");
       w.Node("Sigmoid", {"padded"}, "s").Node("GlobalAveragePool", {"s"}, "y");
     },
     "(Sigmoid): with its results, values that are still to be read take 1800720108 bytes"},
    {"doubling",
     {1, 2, 3, 3},
     [](OnnxWriter& w) {
       Chain(60, [&](const std::string& from, const std::string& to) {
         w.Node("Concat", {from, from}, to).With("axis", int64_t{1});
       });
     },
     "(Concat): with it, an image needs 7730e9 operations"},
    {"large product",
     {1, kMany},
     [](OnnxWriter& w) {
       w.Node("Gemm", {"x", "x"}, "p").With("transA", int64_t{1});
       w.Node("ReduceMean", {"p"}, "y");
     },
     "node \"p_node\" (Gemm): with it, an image needs"},
    {"window over all",
     {1, 16, 1000, 1000},
     [](OnnxWriter& w) {
       w.Node("MaxPool", {"x"}, "y").With("kernel_shape", Dims{999, 999});
       w.With("pads", Dims{499, 499, 499, 499});
     },
     "(MaxPool): with it, an image needs 798"},
    {"window over padding",
     {1, 1, 3, 3},
     [](OnnxWriter& w) {
       w.Node("MaxPool", {"x"}, "y").With("kernel_shape", Dims{5000, 5000});
       w.With("pads", Dims{2000, 2000, 2999, 2999});
     },
     ""},
    {"all neighbours",
     {1, 65535, 10, 10},
     [](OnnxWriter& w) { w.Node("LRN", {"x"}, "y").With("size", int64_t{65535}); },
     "(LRN): with it, an image needs"},
    {"plain loops",
     {1, 8, 300, 300},
     [](OnnxWriter& w) {
       w.Floats("w", {8, 8, 25, 25}, Ramp(8 * 8 * 25 * 25)).Node("ConvTranspose", {"x", "w"}, "y");
       w.With("dilations", Dims{9, 9}).With("strides", Dims{2, 2});
     },
     "(ConvTranspose): with it, an image needs"},
    {"rank",
     {1, 2, 3, 3},
     [](OnnxWriter& w) {
       w.Ints("a", {2}, {0, 1});
       Chain(1000, [&](const std::string& from, const std::string& to) {
         w.Node("Unsqueeze", {from, "a"}, to);
       });
     },
     "(Unsqueeze): 2 axes more than [1,1,1,1,1,1,1,1,1,1,1,1,1,2,3,3]; allowed: 16 dimensions"},
    {"rank of constants",
     {1, 2},
     [](OnnxWriter& w) {
       w.Ints("i", {1, 1, 1}, {0});
       w.Node("Gather", {"i", "i"}, "g0").With("axis", int64_t{0});
       for (int i = 0; i < 9; ++i) {
         const std::string last = "g" + std::to_string(i);
         w.Node("Gather", {last, "i"}, "g" + std::to_string(i + 1)).With("axis", int64_t{0});
       }
       w.Node("Reshape", {"x", "g9"}, "y");
     },
     "(Gather): its result has 17 dimensions; allowed: 16 at most"},
    {"rank of the output",
     {1, 2, 3, 3},
     [](OnnxWriter& w) {
       w.Ints("a", {3}, {0, 1, 2}).Node("Unsqueeze", {"x", "a"}, "y");
     },
     "output \"y\": input 0 has shape [1,1,1,1,3,3,2]; allowed: at most 6 dimensions"},
    {"long list",
     {1, 18},
     [](OnnxWriter& w) {
       Dims shape(5000, 1);
       w.Ints("s", {5000}, shape).Node("Reshape", {"x", "s"}, "y");
     },
     "(Reshape): input 1 (shape) has 5000 integers; allowed: 64 at most"},
    {"nothing, many times",
     {1, 2},
     [](OnnxWriter& w) {
       w.Floats("e", {kMany, kMany, 0}, {}).Ints("i", {1}, {0}).Ints("none", {0}, {});
       w.Node("Gather", {"e", "i"}, "f").With("axis", int64_t{1});
       w.Node("Gather", {"f", "none"}, "g").With("axis", int64_t{2});
       w.Node("Concat", {"g", "g"}, "h").With("axis", int64_t{2}).Node("Transpose", {"h"}, "t");
       w.Node("Shape", {"t"}, "s").Node("Reshape", {"x", "s"}, "y");
     },
     "(Reshape): cannot reshape [1,2] to [1,1,1048576]"},
    {"nothing of many",
     {1, 2},
     [](OnnxWriter& w) {
       w.Floats("e", {0, int64_t{1} << 62}, {}).Node("Add", {"x", "e"}, "y");
     },
     "tensor \"e\" has shape [0,4611686018427387904]"},
    {"many looks",
     {1, kMany},
     [](OnnxWriter& w) {
       w.Ints("a", {}, {0}).Ints("b", {}, {kMany}).Ints("c", {}, {1});
       w.Node("Range", {"a", "b", "c"}, "r");
       Chain(1000, [&](const std::string& from, const std::string& to) {
         w.Node("Gather", {from, "r"}, to).With("axis", int64_t{1});
       });
     },
     "(Gather): needs more memory for constants than the file's tensors explain"},
    {"names alike",
     {1, 2},
     [](OnnxWriter& w) {
       int number = 0;
       Chain(4096, [&](const std::string& from, const std::string& to) {
         std::string name;
         for (int bit = 0; bit < 12; ++bit) name += (number >> bit & 1) != 0 ? ':' : '_';
         ++number;
         w.Floats(name, {2}, {1, 2}).Node("Add", {from, name}, to);
       });
     },
     ""},
    {"many fused nodes",
     {1, 1, 2, 2},
     [](OnnxWriter& w) {
       w.Floats("w", {1, 1, 1, 1}, {1});
       Chain(8000, [&](const std::string& from, const std::string& to) {
         w.Node("Conv", {from, "w"}, to + "c").Node("Relu", {to + "c"}, to);
       });
     },
     ""},
    {"too many nodes",
     {1, 2},
     [](OnnxWriter& w) {
       Chain(kMostNodes + 1,
             [&](const std::string& from, const std::string& to) { w.Node("Relu", {from}, to); });
     },
     "(Relu): with it, the graph has more than 32768 nodes"},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxLimit, testing::ValuesIn(kLargeModels), [](const auto& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return !isalnum(c); });
  return name;
});

// Results that are all kept, as training does, are limited in another way.
TEST(OnnxLimits, TrainingKeepsAllValues) {
  OnnxWriter writer;
  writer.Input("x", {-1, 1, 4000, 4000}).Output("y");
  Chain(80, [&](const std::string& from, const std::string& to) {
    writer.Node(to == "y" ? "GlobalAveragePool" : "Relu", {from}, to);
  });
  EXPECT_EQ(OnnxMessage(writer), "");
  EXPECT_THAT(OnnxMessage(writer, {.training = true}),
              HasSubstr("(Relu): with its results, those of all nodes take"));
}

TEST(OnnxLimits, AreOfAnImageWhereTheBatchIsOpen) {
  OnnxWriter writer;
  writer.Input("x", {-1, 64, 1024, 512}).Output("y");
  writer.Node("Relu", {"x"}, "r").Node("GlobalAveragePool", {"r"}, "y");
  EXPECT_EQ(OnnxMessage(writer), "");
  EXPECT_EQ(OnnxMessage(writer, {.batch = 64}), "");
}

TEST(OnnxLimits, InputsAndOutputsAreCounted) {
  OnnxWriter writer;
  writer.Input("x", {1, 2});
  for (int i = 0; i < 600; ++i) {
    writer.Node("Relu", {"x"}, "y" + std::to_string(i)).Output("y" + std::to_string(i));
  }
  EXPECT_THAT(OnnxMessage(writer),
              HasSubstr("has 1 inputs and 600 outputs; allowed: 512 at most of each"));
}

// As a batch of its own times a network for each slice might be.
TEST(OnnxLimits, SlicesOfManyInputsAreFew) {
  OnnxWriter writer;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    writer.Input("x" + n, {1009, 1, 16, 16}).Output("y" + n);
    writer.Node("Sigmoid", {"x" + n}, "a" + n).Node("Relu", {"a" + n}, "y" + n);
  }
  const auto file = ParseOnnx(writer.Bytes(), "test.onnx");
  Graph graph, optimised;
  GraphBuilder builder(&graph);
  std::vector<Output> inputs;
  std::vector<std::string> fetches;
  for (const auto& input : file->Inputs(1009)) {
    inputs.push_back(builder.Placeholder("feed " + input.name, input.Ours()));
  }
  for (const auto& built : file->Build(&builder, inputs, {.batch = 1009})) {
    fetches.push_back(graph.At(built.output.node).name);
  }
  OptimizeForInference(graph, fetches, {}, &optimised, {.bytes = 1 << 12});
  EXPECT_LT(optimised.Size(), 1 << 15);
}

TEST(GraphDefLimits, AreThoseOfOnnx) {
  GraphDefWriter doubling, pool, wide;
  doubling.Placeholder("x", {1, 3}).Ints("axis", {}, {1});
  Chain(60, [&](const std::string& from, const std::string& to) {
    doubling.Node("ConcatV2", to, {from, from, "axis"});
  });
  EXPECT_THAT(GraphDefMessage(doubling), HasSubstr("(ConcatV2): with it, an image needs"));
  pool.Placeholder("x", {1, 2000, 2000, 1}).Node("AvgPool", "y", {"x"}).With("padding", "SAME");
  pool.With("ksize", {1, 2000, 2000, 1}).With("strides", {1, 1, 1, 1});
  EXPECT_THAT(GraphDefMessage(pool), HasSubstr("node \"y\" (AvgPool): with it, an image needs"));
  wide.Placeholder("x", {1, 2});
  for (int i = 0; i < 600; ++i) wide.Node("Relu", "y" + std::to_string(i), {"x"});
  EXPECT_THAT(GraphDefMessage(wide), HasSubstr("has 1 inputs and 600 outputs"));
}

TEST(GraphDefLimits, ShapesOfConstants) {
  const auto message = [](const Dims& dims) {
    GraphDefWriter writer;
    writer.Placeholder("x", {1, 1}).Floats("c", dims, {1}).Node("Add", "y", {"x", "c"});
    return GraphDefMessage(writer);
  };
  EXPECT_EQ(message({1 << 20}), "");  // One value stands for all.
  EXPECT_THAT(message({1 << 28}), HasSubstr("node \"c\" (Const): 268435456 elements are more"));
  EXPECT_THAT(message({0, int64_t{1} << 62}), HasSubstr("node \"c\" (Const): has shape"));
  EXPECT_THAT(message({-1}), HasSubstr("node \"c\" (Const): has shape [-1]"));
  EXPECT_THAT(message(Dims(17, 1)), HasSubstr("node \"c\" (Const): has shape"));
}

// No machine has so much; the message names the node, and nothing is allocated.
TEST(SessionLimits, MemoryThatIsNotThereIsRefused) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output x = builder.Placeholder("x", {int64_t{1} << 38});
  const std::string relu = graph.At(builder.Relu(x).node).name;
  graph.Build();
  Session session(graph, {});
  try {
    session.Run({}, {relu});
    ADD_FAILURE() << "not refused";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("node \"Relu\" (Relu): its result takes 1099511627776 "
                                        "bytes, the largest of values that take 1099511627776"));
  }
}

}  // namespace
}  // namespace cosched
