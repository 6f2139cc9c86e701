#include "experiments/tenant/progress_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

int64_t StepsOf(const std::string& expression, const std::vector<std::string>& pieces) {
  OutputProgress progress(expression);
  for (const std::string& piece : pieces) progress.Take(piece);
  progress.End();
  return progress.Steps();
}

TEST(OutputProgressTest, EachLineInWhichItIsFoundIsAStep) {
  EXPECT_EQ(StepsOf("^done", {"done 1\nnot done\ndone 2\n"}), 2);
}

TEST(OutputProgressTest, AGroupSaysHowManyAreDone) {
  EXPECT_EQ(StepsOf("step (\\d+)/", {"step 3/9\nstep 12/90 step 13/90\n"}), 12);
  // Neither back, nor by what is no number.
  EXPECT_EQ(StepsOf("step (\\S+)", {"step 7\nstep 2\nstep many\nstep -1\n"}), 7);
  EXPECT_EQ(StepsOf("step (\\S+)", {"step 99999999999999999999\n"}), 0);
}

TEST(OutputProgressTest, PiecesMakeLines) {
  EXPECT_EQ(StepsOf("^step (\\d+)$", {"st", "ep 1", "2\r", "\nste", "p 13"}), 13);
}

TEST(OutputProgressTest, ProgressBarsEndTheirLinesWithAReturn) {
  EXPECT_EQ(StepsOf("(\\d+)%", {"\r10%\r20%", "\r30%\r"}), 30);
}

// A binary file on the terminal must neither fill the memory nor overflow the stack of the matcher.
TEST(OutputProgressTest, LongLinesAreCut) {
  const std::string noise(5'000'000, 'x');
  EXPECT_EQ(StepsOf("(?:x|y)*z", {noise, "z\nz\n"}), 1);
  EXPECT_EQ(StepsOf("^.*end$", {noise + "end\n"}), 0);
}

TEST(StepsInFileTest, AreItsFirstNumber) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "count";
  EXPECT_FALSE(StepsInFile(file));
  const std::pair<const char*, std::optional<int64_t>> cases[] = {
      {"", {}}, {"12\n", 12}, {" 7 of 9", 7}, {"-3", {}}, {"none", {}}, {"\n5", {}}};
  for (const auto& [text, steps] : cases) {
    std::ofstream(file) << text;
    EXPECT_EQ(StepsInFile(file), steps) << text;
  }
}

}  // namespace
}  // namespace cosched
