// `cosched pipeline run classify` as a person uses it: what is printed and written, and what is
// refused. Whether the classes are right, tests/workloads/pipelines says.

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/experiments/cli/cli_fixture.h"

namespace cosched {
namespace {

using ::testing::HasSubstr;

// Of 2 x 2 pixels, by Python's zlib.
constexpr unsigned char kPng[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x02, 0x00, 0x00, 0x00, 0xfd, 0xd4, 0x9a,
    0x73, 0x00, 0x00, 0x00, 0x16, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x60, 0xe0, 0x12, 0x91,
    0xd3, 0x30, 0x62, 0xd0, 0x30, 0xb2, 0x71, 0x0b, 0x88, 0x02, 0x00, 0x0a, 0x2c, 0x02, 0x1d, 0xf8,
    0xa2, 0x98, 0x8e, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

class PipelineClassifyCliTest : public CliTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_.path() / "images");
    for (const char* name : {"a.png", "b, \"b\".png", "c.png"}) Write(name, Png());
    const Ended ended = Run(Command({}));
    if (ended.err.find("is not in this build") != std::string::npos) GTEST_SKIP() << ended.err;
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  }

  static std::string Png() { return {reinterpret_cast<const char*>(kPng), sizeof kPng}; }
  void Write(const std::string& name, const std::string& bytes) const {
    WriteText(folder_.path() / "images" / name, bytes);
  }
  static std::vector<std::string> Command(const std::vector<std::string>& options) {
    std::vector<std::string> words = {"pipeline", "run",      "classify", "--model",
                                      "lenet5",   "--images", "images"};
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }
};

TEST_F(PipelineClassifyCliTest, TellsFiveClassesOfEachImage) {
  const Ended ended = Run(Command({"--threads", "1"}));
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.err, "");  // No progress where nobody looks.
  std::istringstream lines(ended.out);
  std::string line, classes;
  for (const char* name : {"a.png", "b, \"b\".png", "c.png"}) {
    std::getline(lines, line);
    ASSERT_THAT(line, ::testing::StartsWith(std::string(name) + ": "));
    EXPECT_EQ(std::ranges::count(line.substr(std::string(name).size()), ','), 4);
    // They are of equal images.
    const std::string these = line.substr(std::string(name).size());
    if (classes.empty()) classes = these;
    EXPECT_EQ(these, classes);
  }
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr("3 images in "));
  EXPECT_THAT(ended.out, HasSubstr("\ndecode             3         3 "));
  for (const char* stage : {"read", "preprocess", "part1", "part2", "top5"})
    EXPECT_THAT(ended.out, HasSubstr("\n" + std::string(stage) + " "));
}

TEST_F(PipelineClassifyCliTest, WritesAFileForOtherPrograms) {
  const Ended ended = Run(Command({"--out", "top5.csv", "--parts", "1", "--items", "2"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, ::testing::StartsWith("3 images in "));
  const std::string csv = ReadText(folder_.path() / "top5.csv");
  EXPECT_THAT(csv, ::testing::StartsWith("image,rank,class,probability\na.png,1,"));
  EXPECT_THAT(csv, HasSubstr("\n\"b, \"\"b\"\".png\",5,"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 3 * 5);
}

TEST_F(PipelineClassifyCliTest, ABrokenImageIsToldAndOthersAreClassified) {
  Write("b.png", Png().substr(0, 50));
  const Ended ended = Run(Command({"--items", "1", "--open", "2", "--link", "end-to-end"}));
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("request 2 (b.png), decode: "));
  EXPECT_THAT(ended.err, HasSubstr("b.png: is a broken PNG: it ends too early"));
  EXPECT_THAT(ended.out, HasSubstr("c.png: "));
  EXPECT_THAT(ended.out, HasSubstr("3 images in "));
  Write("c.png", "");
  const Ended together = Run(Command({}));
  EXPECT_EQ(together.exit_code, 2);
  EXPECT_THAT(together.err, HasSubstr("request 0 (a.png to c.png), decode: "));
}

TEST_F(PipelineClassifyCliTest, WithoutAFolderImagesAreMade) {
  const Ended ended =
      Run({"pipeline", "run", "classify", "--model", "lenet5", "--requests", "2", "--items", "3"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, ::testing::StartsWith("procedural 0.jpg: "));
  EXPECT_THAT(ended.out, HasSubstr("\nprocedural 5.jpg: "));
  EXPECT_THAT(ended.out, HasSubstr("\n6 images in "));
}

// Whether the process has a thread that makes calls.
bool HasLanes(pid_t pid) {
  std::error_code ignored;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored)) {
    std::string name;
    std::ifstream(thread.path() / "comm") >> name;
    if (name.starts_with("lane/")) return true;
  }
  return false;
}

TEST_F(PipelineClassifyCliTest, InterruptedItLeavesTheFileAsItWas) {
  WriteText(folder_.path() / "top5.csv", "from before");
  const pid_t pid = Start(Command({"--out", "top5.csv", "--requests", "100000", "--threads", "1"}));
  for (int i = 0; i < 60'000 && !HasLanes(pid); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(pid, SIGINT);
  const Ended ended = Wait(pid);
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_EQ(ReadText(folder_.path() / "top5.csv"), "from before");
  EXPECT_THAT(ended.err, HasSubstr("interrupted; top5.csv was not written"));
}

TEST_F(PipelineClassifyCliTest, RefusesWhatCanNotBe) {
  std::filesystem::create_directory(folder_.path() / "empty");
  ExpectRefused(Command({"--parts", "500"}), {"parts: 500 of a network that can be cut"});
  ExpectRefused(Command({"--parts", "0"}), {"--parts: \"0\"; allowed: "});
  ExpectRefused(Command({"--items", "0"}), {"--items: \"0\""});
  ExpectRefused(Command({"--threads", "4096"}), {"--threads: "});
  ExpectRefused(Command({"--out", "none/x.csv"}), {"--out: \"none/x.csv\"; allowed: a file in"});
  ExpectRefused(Command({"--out", "images"}), {"--out: \"images\""});
  ExpectRefused(Command({"--load-weights", "none"}), {"--load-weights: \"none\""});
  ExpectRefused(Command({"--load-weights", "images/a.png"}), {"images/a.png: "});
  ExpectRefused({"pipeline", "run", "classify", "--model", "lenet"}, {"lenet", "lenet5"});
  ExpectRefused({"pipeline", "run", "classify"}, {"--model: is required"});
  ExpectRefused({"pipeline", "run", "classify", "--model", "lenet5", "--images", "none"},
                {"--images: \"none\""});
  ExpectRefused({"pipeline", "run", "classify", "--model", "lenet5", "--images", "empty"},
                {"images: empty has no images"});
}

}  // namespace
}  // namespace cosched
