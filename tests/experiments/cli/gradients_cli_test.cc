// `cosched gradients` as experiments/peers/compare_gradients.py calls it: what the files hold, and
// what is refused.

#include <gmock/gmock.h>

#include "tests/experiments/cli/cli_fixture.h"
#include "workloads/weights_file.h"

namespace cosched {
namespace {

using testing::HasSubstr;

class GradientsCliTest : public CliTest {
 protected:
  // Two images of a ramp; the model's initial weights.
  GradientsCliTest() {
    Tensor images(Shape{2, 28, 28, 1});
    for (int64_t i = 0; i < images.Elements(); ++i)
      images.Floats()[i] = static_cast<float>(i % 97) / 97 - 0.5f;
    const std::vector<int32_t> classes = {3, 7};
    const Tensor labels = Tensor::Of({2}, std::span<const int32_t>(classes));
    SaveTensors({{"images", images}, {"labels", labels}}, Path("given"));
  }

  std::string Path(const std::string& name) const { return folder_.path() / name; }
  // Relative paths: the command runs in the folder.
  static std::vector<std::string> Command(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"gradients", "--model", "lenet5", "--tensors",
                                        "given",     "--out",   "taken"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
};

TEST_F(GradientsCliTest, WritesTheStepAndWhatItsLayersGave) {
  const Ended ended = Run(Command({"--layers", "layers", "--threads", "2"}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const NamedTensors taken = LoadTensors(Path("taken")), layers = LoadTensors(Path("layers"));
  EXPECT_EQ(taken.size(), 2U + 10U);
  EXPECT_EQ(taken.at("conv2/filter").GetShape(), Shape({5, 5, 6, 16}));
  EXPECT_GT(taken.at("loss").Floats()[0], 0);
  EXPECT_EQ(layers.size(), 5U);
  EXPECT_EQ(layers.at("conv1").GetShape(), Shape({2, 28, 28, 6}));
  for (int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(layers.at("fc3").Floats()[i], taken.at("logits").Floats()[i]);
}

TEST_F(GradientsCliTest, LayersAreWrittenOnlyWhereAsked) {
  ASSERT_EQ(Run(Command()).exit_code, 0);
  EXPECT_EQ(LoadTensors(Path("taken")).size(), 2U + 10U);
  EXPECT_FALSE(std::filesystem::exists(Path("layers")));
}

TEST_F(GradientsCliTest, RefusesWithOneMessage) {
  ExpectRefused(Command({"--layers", "taken"}), {"--layers: ", "another file than --out"});
  ExpectRefused({"gradients", "--model", "lenet6", "--tensors", "given", "--out", "taken"},
                {"unknown model \"lenet6\""});
  ExpectRefused({"gradients", "--model", "resnet20", "--tensors", "given", "--out", "taken"},
                {"given: ", "\"images\" are of shape [2,28,28,1]", "[N,height,width,3]"});
  ExpectRefused({"gradients", "--model", "lenet5", "--tensors", "none", "--out", "taken"},
                {"none: "});
  EXPECT_FALSE(std::filesystem::exists(Path("taken")));
  const Ended ended = Run(Command({"--layers", "no/folder"}));
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("no/folder"));
}

}  // namespace
}  // namespace cosched
