// Files that are wrong, too new or meant to harm: one message that names the file, the node and its
// op, and no more memory than the file explains.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "engine/base/error.h"
#include "tests/engine/graph/readers/onnx_writer.h"
#include "tests/engine/graph/readers/read_and_run.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;
using ::testing::HasSubstr;

// Reads and builds at batch 1; the message, or "" where all is well.
std::string Message(const std::string& bytes) {
  try {
    const auto file = ParseOnnx(bytes, "test.onnx");
    Graph graph;
    GraphBuilder builder(&graph);
    std::vector<Output> inputs;
    for (const auto& input : file->Inputs(1)) {
      inputs.push_back(builder.Placeholder("feed " + input.name, input.Ours()));
    }
    file->Build(&builder, inputs, {});
    return "";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("test.onnx"));
    return error.what();
  }
}

struct BadModel {
  const char* name;
  std::function<void(OnnxWriter&)> add;  // To an input x [1,2,3,3] and an output y.
  const char* message;
};

void PrintTo(const BadModel& model, std::ostream* stream) { *stream << model.name; }

class OnnxError : public testing::TestWithParam<BadModel> {};

TEST_P(OnnxError, NamesNodeAndOp) {
  OnnxWriter writer;
  writer.Input("x", {-1, 2, 3, 3}).Output("y");
  GetParam().add(writer);
  EXPECT_THAT(Message(writer.Bytes()), HasSubstr(GetParam().message));
}

constexpr int64_t kHuge = int64_t{1} << 40;

const BadModel kBadModels[] = {
    {"op", [](OnnxWriter& w) { w.Node("Zap", {"x"}, "y"); }, "node \"y_node\" (Zap): unknown op"},
    {"domain",
     [](OnnxWriter& w) {
       w.Node("Relu", {"x"}, "y").proto().mutable_graph()->mutable_node(0)->set_domain("me");
     },
     "(me::Relu): unknown op"},
    {"opset", [](OnnxWriter& w) { w.proto().mutable_opset_import(0)->set_version(21); },
     "is of opset 21; allowed: 7 to 20"},
    {"nothing gives it", [](OnnxWriter& w) { w.Node("Relu", {"z"}, "y"); },
     "(Relu): nothing gives \"z\""},
    {"no output", [](OnnxWriter&) {}, "nothing gives \"y\""},
    {"cycle",
     [](OnnxWriter& w) {
       w.Node("Add", {"x", "y"}, "a").Node("Relu", {"a"}, "y");
     },
     "depends on it"},
    {"two producers", [](OnnxWriter& w) { w.Node("Relu", {"x"}, "y").Node("Relu", {"x"}, "y"); },
     "(Relu): another node gives \"y\""},
    {"tensor's size",
     [](OnnxWriter& w) {
       w.Floats("c", {kHuge / 8}, {1}).Node("Add", {"x", "c"}, "y");
     },
     "hold more than 4294967296 bytes"},
    {"tensor's values",
     [](OnnxWriter& w) {
       w.Floats("c", {2, 2}, {1, 2, 3}).Node("Add", {"x", "c"}, "y");
     },
     "tensor \"c\" holds 3 bytes or values, which do not fit its shape [2,2]"},
    {"negative size",
     [](OnnxWriter& w) {
       w.Ints("c", {-1}, {}).Node("Add", {"x", "c"}, "y");
     },
     "tensor \"c\" has shape [-1]"},
    {"channels",
     [](OnnxWriter& w) {
       w.Floats("f", {1, 3, 1, 1}, Ramp(3)).Node("Conv", {"x", "f"}, "y");
     },
     "(Conv): image [1,2,3,3], filter [1,3,1,1] and 1 groups do not fit"},
    {"window",
     [](OnnxWriter& w) {
       w.Floats("f", {1, 2, 5, 5}, Ramp(50)).Node("Conv", {"x", "f"}, "y");
     },
     "node \"y_node\" (Conv): a window of 5 does not fit into 3"},
    {"shapes",
     [](OnnxWriter& w) {
       w.Floats("c", {4}, Ramp(4)).Node("Add", {"x", "c"}, "y");
     },
     "(Add): inputs have shapes"},
    {"attribute", [](OnnxWriter& w) { w.Node("LRN", {"x"}, "y"); },
     "(LRN): attribute size is missing"},
    {"strides",
     [](OnnxWriter& w) {
       w.Node("MaxPool", {"x"}, "y").With("kernel_shape", Dims{2, 2}).With("strides", Dims{0, 1});
     },
     "(MaxPool): attribute strides is [0,1]"},
    {"power",
     [](OnnxWriter& w) {
       w.Floats("e", {}, {3}).Node("Pow", {"x", "e"}, "y");
     },
     "(Pow): raises to the power of 3.000000; allowed: 0.5, 1 and 2"},
    {"power of each",
     [](OnnxWriter& w) {
       w.Floats("e", {2}, {2, 3}).Node("Pow", {"x", "e"}, "y");
     },
     "(Pow): input 1 (exponent) has shape [2]; allowed: one number"},
    {"approximate GELU",
     [](OnnxWriter& w) { w.Node("Gelu", {"x"}, "y").With("approximate", "tanh"); },
     "(Gelu): approximate is \"tanh\"; allowed: none"},
    {"layer norm's axis",
     [](OnnxWriter& w) {
       w.Floats("s", {3}, {1, 2, 3}).Node("LayerNormalization", {"x", "s"}, "y");
       w.With("axis", int64_t{4});
     },
     "(LayerNormalization): axis 4 of 4 dimensions"},
    {"layer norm's scale",
     [](OnnxWriter& w) {
       w.Floats("s", {3}, {1, 2, 3}).Node("LayerNormalization", {"x", "s"}, "y");
       w.With("axis", int64_t{2});
     },
     "(LayerNormalization): input 1 has shape [3]; allowed: [3,3]"},
    {"layer norm's statistics",
     [](OnnxWriter& w) {
       w.Floats("s", {3}, {1, 2, 3}).Node("LayerNormalization", {"x", "s"}, "n");
       w.proto().mutable_graph()->mutable_node(0)->add_output("");
       w.proto().mutable_graph()->mutable_node(0)->add_output("deviation");
       w.Node("Relu", {"deviation"}, "y");
     },
     "(Relu): it reads \"deviation\""},
    {"indices of the maximum",
     [](OnnxWriter& w) {
       w.Node("MaxPool", {"x"}, "m").With("kernel_shape", Dims{1, 1});
       w.proto().mutable_graph()->mutable_node(0)->add_output("i");
       w.Node("Relu", {"i"}, "y");
     },
     "(Relu): it reads \"i\""},
    {"unknown shape",
     [](OnnxWriter& w) {
       w.Node("Reshape", {"x", "x"}, "y");
     },
     "(Reshape): input 1 (shape) depends on the images"},
    {"many integers",
     [](OnnxWriter& w) {
       w.Ints("s", {1}, {int64_t{1} << 30}).Ints("v", {}, {0}).Node("Expand", {"v", "s"}, "y");
     },
     "(Expand): its result would be 1073741824 integers"},
    {"floats out of nothing",
     [](OnnxWriter& w) {
       w.Ints("s", {2}, {1 << 14, 1 << 14}).Node("ConstantOfShape", {"s"}, "c");
       w.Node("Add", {"x", "c"}, "y");
     },
     "(ConstantOfShape): needs more memory for constants than the file's tensors explain"},
    {"endless range",
     [](OnnxWriter& w) {
       w.Ints("a", {}, {0})
           .Ints("b", {}, {kHuge})
           .Ints("c", {}, {1})
           .Node("Range", {"a", "b", "c"}, "y");
     },
     "(Range): gives too many integers"},
    {"padding",
     [](OnnxWriter& w) {
       w.Ints("p", {8}, {0, 0, 0, 0, 0, kHuge, 0, 0}).Node("Pad", {"x", "p"}, "y");
     },
     "(Pad): paddings are"},
    {"negative padding",
     [](OnnxWriter& w) {
       w.Ints("p", {8}, {0, 0, 0, 0, 0, -1, 0, 0}).Node("Pad", {"x", "p"}, "y");
     },
     "(Pad): paddings are"},
    {"transposition",
     [](OnnxWriter& w) {
       w.Node("Transpose", {"x"}, "y").With("perm", Dims{0, 1, 1, 2});
     },
     "(Transpose): the permutation [0,1,1,2]"},
    {"elements",
     [](OnnxWriter& w) {
       w.Ints("s", {2}, {-1, 5}).Node("Reshape", {"x", "s"}, "y");
     },
     "(Reshape): cannot reshape [1,2,3,3]"},
    {"dilated pool",
     [](OnnxWriter& w) {
       w.Node("MaxPool", {"x"}, "y").With("kernel_shape", Dims{2, 2}).With("dilations", Dims{2, 2});
     },
     "(MaxPool): dilations are [2,2]"},
    {"division by zero",
     [](OnnxWriter& w) {
       w.Ints("a", {1}, {1}).Ints("b", {1}, {0}).Node("Div", {"a", "b"}, "s");
       w.Node("Reshape", {"x", "s"}, "y");
     },
     "(Div): can't be worked out for 1 and 0"},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxError, testing::ValuesIn(kBadModels), [](const auto& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return !isalnum(c); });
  return name;
});

TEST(OnnxErrors, TruncatedAndForeignBytes) {
  OnnxWriter writer;
  writer.Input("x", {1, 2}).Floats("c", {2}, {1, 2}).Output("y").Node("Add", {"x", "c"}, "y");
  const std::string whole = writer.Bytes();
  EXPECT_EQ(Message(whole), "");
  int refused = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    refused += Message(whole.substr(0, size)).empty() ? 0 : 1;
  }
  // What may be cut off is only what a reader doesn't need: the opset is last but one, and needed.
  EXPECT_EQ(refused, static_cast<int>(whole.size()));
  EXPECT_THAT(Message("\x7f"
                      "ELF\x02\x01\x01"),
              HasSubstr("no ONNX file"));
  EXPECT_THAT(Message(""), HasSubstr("holds no graph"));
}

TEST(OnnxErrors, InputsMustBeFixedButForTheBatch) {
  OnnxWriter writer;
  writer.Input("x", {-1, 3, -1, 5}).Output("y").Node("Relu", {"x"}, "y");
  EXPECT_THAT(Message(writer.Bytes()), HasSubstr("input \"x\" has no fixed size \"batch\""));
  OnnxWriter fixed;
  fixed.Input("x", {1, 3, 5, 5}).Output("y").Node("Relu", {"x"}, "y");
  const auto file = ParseOnnx(fixed.Bytes(), "test.onnx");
  EXPECT_EQ(file->OwnBatch(), 1);
  EXPECT_THROW(file->Inputs(2), InputError);
}

// A chain as long as its file needs no deep stack.
TEST(OnnxErrors, LongChainsAreNoProblem) {
  OnnxWriter writer;
  writer.Input("x", {1, 2}).Output("y");
  std::string last = "x";
  for (int i = 0; i < 20'000; ++i) {
    const std::string next = i == 19'999 ? "y" : "v" + std::to_string(i);
    writer.Node("Relu", {last}, next);
    last = next;
  }
  EXPECT_EQ(Message(writer.Bytes()), "");
}

class OnnxExternal : public testing::Test {
 protected:
  OnnxExternal() : root_(testing::TempDir() + "onnx_external_" + std::to_string(getpid())) {
    std::filesystem::create_directories(root_ / "model");
    Write(root_ / "secret", std::string(8, 's'));
    const float values[] = {0, 3, 5, 7};
    Write(root_ / "model" / "data", {reinterpret_cast<const char*>(values), sizeof values});
    std::filesystem::create_symlink(root_ / "secret", root_ / "model" / "link");
  }
  ~OnnxExternal() override { std::filesystem::remove_all(root_); }

  static void Write(const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }

  // x plus two floats at this place.
  std::string Read(const std::string& location, const std::string& offset,
                   const std::string& length = "8", int tensors = 1) {
    OnnxWriter writer;
    writer.Input("x", {1, 2}).Output("y");
    std::string last = "x";
    for (int i = 0; i < tensors; ++i) {
      const std::string name = "c" + std::to_string(i);
      writer.Floats(name, {2}, {});
      auto* tensor = writer.proto().mutable_graph()->mutable_initializer(i);
      tensor->set_data_location(onnx::TensorProto::EXTERNAL);
      for (const auto& [key, value] : {std::pair("location", location), std::pair("offset", offset),
                                       std::pair("length", length)}) {
        auto* entry = tensor->add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      }
      writer.Node("Add", {last, name}, i + 1 == tensors ? "y" : "sum" + name);
      last = "sum" + name;
    }
    Write(root_ / "model" / "model.onnx", writer.Bytes());
    try {
      const Array y = RunFile(*ReadOnnx(root_ / "model" / "model.onnx"), {{{1, 2}, {1, 1}}})[0];
      return std::to_string(y.values[0]) + " " + std::to_string(y.values[1]);
    } catch (const InputError& error) {
      return error.what();
    }
  }

  std::filesystem::path root_;
};

TEST_F(OnnxExternal, StaysInTheModelsFolderAndSize) {
  EXPECT_EQ(Read("data", "4"), "4.000000 6.000000");
  EXPECT_THAT(Read("data", "12"), HasSubstr("do not fit"));
  EXPECT_THAT(Read("data", "-4"), HasSubstr("do not fit"));
  EXPECT_THAT(Read("data", "4", "4"), HasSubstr("do not fit"));
  EXPECT_THAT(Read("data", "0", "8", 3), HasSubstr("tensors take more than the file holds"));
  for (const std::string& location :
       {std::string("../secret"), (root_ / "secret").string(), std::string("link"),
        std::string("none"), std::string("."), std::string("/dev/zero"), std::string()}) {
    EXPECT_THAT(Read(location, "0"), HasSubstr("a regular file within the model's folder"))
        << location;
  }
}

TEST_F(OnnxExternal, FilesThatAreNone) {
  EXPECT_THROW(ReadOnnx(root_), InputError);
  EXPECT_THROW(ReadOnnx(root_ / "none.onnx"), InputError);
  EXPECT_THROW(ReadOnnx("/dev/zero"), InputError);
}

}  // namespace
}  // namespace cosched
