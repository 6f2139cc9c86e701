// `cosched model` and models from files as a user meets them: what is printed, what is refused, and
// that a file's name works where a model's does.

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "engine/base/error.h"
#include "tests/engine/graph/readers/onnx_writer.h"
#include "tests/experiments/cli/cli_fixture.h"
#include "workloads/npy_file.h"

namespace cosched {
namespace {

using testing::HasSubstr;

class ModelCliTest : public CliTest {
 protected:
  // 1x1 convolution from 2 channels to 3, then the mean of each: [N,2,2,2] to [N,3].
  ModelCliTest() {
    OnnxWriter writer;
    writer.Input("x", {-1, 2, 2, 2}).Output("y").Floats("w", {3, 2, 1, 1}, {1, 0, 0, 1, 1, 1});
    writer.Floats("b", {3}, {0, 0, 1}).Node("Conv", {"x", "w", "b"}, "c");
    writer.Node("GlobalAveragePool", {"c"}, "g").Node("Flatten", {"g"}, "y");
    Write("net.onnx", writer.Bytes());
    WriteNpy(Path("x.npy"), Tensor::Of({1, 2, 2, 2}, Values({1, 2, 3, 4, 10, 20, 30, 40})));
    WriteNpy(Path("y.npy"), Tensor::Of({1, 3}, Values({2.5f, 25, 28.5f})));
    WriteNpy(Path("wrong.npy"), Tensor::Of({1, 3}, Values({2.5f, 25, 28})));
  }

  static std::vector<float> Values(std::vector<float> values) { return values; }
  std::filesystem::path Path(const std::string& name) const { return folder_.path() / name; }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
};

TEST_F(ModelCliTest, RunsAndCompares) {
  const std::vector<std::string> run = {"model",   "run",   "--model",  "onnx:net.onnx",
                                        "--input", "x.npy", "--output", "out.npy"};
  std::vector<std::string> good = run;
  good.insert(good.end(), {"--expect", "y.npy"});
  const Ended same = Run(good);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("output y [1,3]: max absolute error 0, max relative error 0"));
  const Tensor y = ReadNpy(Path("out.npy"));
  EXPECT_EQ(y.GetShape(), Shape({1, 3}));
  EXPECT_FLOAT_EQ(y.Floats()[2], 28.5f);

  std::vector<std::string> bad = run;
  bad.insert(bad.end(), {"--expect", "wrong.npy"});
  const Ended other = Run(bad);
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.out, HasSubstr("max absolute error 0.5, max relative error 0.0179"));
  bad.insert(bad.end(), {"--tolerance", "0.1"});
  EXPECT_EQ(Run(bad).exit_code, 0);
}

TEST_F(ModelCliTest, ReadsTensorsOfTheModelZoo) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const int size : {1, 2, 2, 2}) tensor.add_dims(size);
  for (const float value : {1, 2, 3, 4, 10, 20, 30, 40}) tensor.add_float_data(value);
  Write("input_0.pb", tensor.SerializeAsString());
  EXPECT_EQ(Run({"model", "run", "--model", "onnx:net.onnx", "--input", "input_0.pb", "--expect",
                 "y.npy", "--threads", "2"})
                .exit_code,
            0);
}

TEST_F(ModelCliTest, RefusesWithOneMessage) {
  OnnxWriter unknown;
  unknown.Input("x", {1, 2}).Output("y").Node("Zap", {"x"}, "y");
  Write("zap.onnx", unknown.Bytes());
  Write("garbage.onnx", "garbage");
  const auto run = [](const std::string& model) {
    return std::vector<std::string>{"model", "run", "--model", model};
  };
  ExpectRefused(run("onnx:zap.onnx"), {"zap.onnx: node \"y_node\" (Zap): unknown op"});
  ExpectRefused(run("onnx:garbage.onnx"), {"garbage.onnx: "});
  ExpectRefused(run("onnx:none.onnx"), {"none.onnx: does not exist"});
  ExpectRefused(run("graphdef:net.onnx"), {"net.onnx: "});
  ExpectRefused(run("lenet6"), {"unknown model \"lenet6\"", "onnx:FILE"});
  std::vector<std::string> shape = run("onnx:net.onnx");
  shape.insert(shape.end(), {"--batch", "2", "--input", "x.npy"});
  ExpectRefused(shape, {"x.npy: has shape [1,2,2,2]; allowed: [2,2,2,2]"});
}

// Whatever a file asks for, and whatever its names are: one line, and no memory taken for it.
TEST_F(ModelCliTest, HostileFilesAreToldInOneLine) {
  OnnxWriter name, values, images;
  name.Input("x", {1, 2, 3, 3}).Output("y").Node("Zap", {"x"}, "y");
  name.proto().mutable_graph()->mutable_node(0)->set_name("\x1b[2J\n" + std::string(1 << 20, 'n'));
  values.Input("x", {1, 1, 3, 3}).Output("y").Ints("p", {8}, {0, 0, 60000, 60000, 0, 0, 0, 0});
  values.Node("Pad", {"x", "p"}, "q").Node("GlobalAveragePool", {"q"}, "y");
  images.Input("x", {-1, 1, 4096, 4096}).Output("y").Node("GlobalAveragePool", {"x"}, "y");
  Write("name.onnx", name.Bytes());
  Write("values.onnx", values.Bytes());
  Write("images.onnx", images.Bytes());
  const auto message = [&](const std::string& file, const std::string& batch) {
    const Ended ended = Run({"model", "run", "--model", "onnx:" + file, "--batch", batch});
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_LT(ended.err.size(), 3000u);
    return ended.err;
  };
  EXPECT_THAT(message("name.onnx", "1"), HasSubstr("name.onnx: node \"\\x1b[2J\\x0annn"));
  EXPECT_THAT(message("values.onnx", "1"),
              HasSubstr("values.onnx: node \"y_node\" (GlobalAveragePool): "
                        "with its results, values that are"));
  // 4 TiB, which is no machine's.
  EXPECT_THAT(message("images.onnx", "65536"),
              HasSubstr("--batch: the inputs would take 4398046511104 bytes"));
}

TEST_F(ModelCliTest, Describes) {
  const Ended file = Run({"model", "describe", "onnx:net.onnx", "--batch", "2"});
  EXPECT_EQ(file.exit_code, 0) << file.err;
  EXPECT_THAT(file.out, HasSubstr("onnx:net.onnx: ONNX opset 13\ninput x [2,2,2,2]\n"));
  EXPECT_THAT(file.out, HasSubstr("9 parameters, 48 multiply-accumulates"));
  const Ended ours = Run({"model", "describe", "lenet5"});
  EXPECT_THAT(ours.out, HasSubstr("61706 parameters, 416520 multiply-accumulates"));
}

// Steps of training and of inference, as for a model of ours.
TEST_F(ModelCliTest, TenantsRunFiles) {
  for (const std::string mode : {"train", "infer"}) {
    const Ended ended =
        Run({"tenant", "--model", "onnx:net.onnx", "--mode", mode, "--batch", "4", "--steps", "2"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  }
}

// A relative path starts from the experiment's folder.
TEST_F(ModelCliTest, ExperimentsNameFiles) {
  std::string text = ReadText(Path("x.toml"));
  text.replace(text.find("lenet5"), 6, "onnx:net.onnx");
  std::filesystem::create_directory(Path("sub"));
  WriteText(Path("sub") / "x.toml", text);
  ExpectRefused({"run", "sub/x.toml", "--dry-run"}, {"sub/net.onnx: does not exist"});
  WriteText(Path("x.toml"), text);
  const Ended ended = Run({"run", "x.toml", "--dry-run"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

TEST_F(ModelCliTest, NpyFilesThatAreNone) {
  Write("short.npy", ReadText(Path("x.npy")).substr(0, 100));
  Write("text.npy", "1, 2, 3");
  std::string swapped = ReadText(Path("x.npy"));
  swapped.replace(swapped.find("<f4"), 3, ">f4");
  Write("swapped.npy", swapped);
  for (const char* name : {"short.npy", "text.npy", "swapped.npy", "none.npy"}) {
    EXPECT_THROW(ReadNpy(Path(name)), InputError) << name;
  }
}

}  // namespace
}  // namespace cosched
