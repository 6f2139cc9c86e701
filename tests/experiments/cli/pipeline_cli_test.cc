// `cosched pipeline run align-sort` as a person uses it: what is printed, what is refused, and that
// no file stays of what did not come to its end. What is in the files, tests/workloads/pipelines says.

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "engine/base/random.h"
#include "tests/experiments/cli/cli_fixture.h"
#include "tests/workloads/genomics/generated_reads.h"

namespace cosched {
namespace {

using ::testing::HasSubstr;

class PipelineCliTest : public CliTest {
 protected:
  void SetUp() override {
    Write("genome.fa", Fasta(genome_));
    Write("reads.fq", Reads(500));
    std::filesystem::create_directory(folder_.path() / "bams");
    const Ended ended = Run(Command({"--out", "probe.bam"}));
    if (ended.err.find("is not in this build") != std::string::npos) GTEST_SKIP() << ended.err;
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    std::filesystem::remove(folder_.path() / "probe.bam");
  }

  static std::vector<std::string> Command(const std::vector<std::string>& options,
                                          const std::string& reads = "reads.fq") {
    std::vector<std::string> words = {"pipeline",  "run",     "align-sort", "--reference",
                                      "genome.fa", "--reads", reads};
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  std::string Reads(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += generator_.Record("read" + std::to_string(i), generator_.Single());
    }
    return text;
  }
  bool LeftBams() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (entry.path().filename().string().find(".bam") != std::string::npos) return true;
    }
    return false;
  }

  // Of those that it has open in the folder: what it has written has no name before it is whole.
  bool HasNamelessFile(pid_t pid) const {
    std::error_code ignored;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", ignored)) {
      const std::string file = std::filesystem::read_symlink(entry.path(), ignored).string();
      if (file.starts_with(folder_.path().string()) && file.ends_with(" (deleted)")) return true;
    }
    return false;
  }

  Random random_{17};
  ReferenceGenome genome_ = RandomGenome(&random_);
  ReadGenerator generator_{&genome_, &random_};
};

TEST_F(PipelineCliTest, AlignsAndTellsWhereTheTimeWent) {
  const Ended ended = Run(Command({"--out", "sorted.bam", "--threads", "1", "--chunk", "100"}));
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.err, "");  // No progress where nobody looks.
  EXPECT_THAT(ended.out, HasSubstr("sorted.bam: 500 reads, "));
  EXPECT_THAT(ended.out, HasSubstr("\nalign              5         5 "));
  for (const char* stage : {"split", "sort", "collect", "merge", "compress", "write", "publish"})
    EXPECT_THAT(ended.out, HasSubstr("\n" + std::string(stage) + " "));
  const std::string bytes = ReadText(folder_.path() / "sorted.bam");
  EXPECT_EQ(bytes.substr(0, 2), "\x1f\x8b");
  EXPECT_THAT(ended.out, HasSubstr(", " + std::to_string(bytes.size()) + " bytes\n"));
}

TEST_F(PipelineCliTest, RanksMakeTheSameFile) {
  if (std::system("command -v mpirun >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no mpirun here (Debian: openmpi-bin)";
  std::string expected;
  for (const char* ranks : {"1", "2", "4"}) {
    const Ended ended = Run(Command({"--out", "sorted.bam", "--chunk", "20", "--ranks", ranks}));
    if (ended.err.find("several ranks are not in this build") != std::string::npos)
      GTEST_SKIP() << ended.err;
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("sorted.bam: 500 reads, "));
    EXPECT_THAT(ended.out, HasSubstr("\nalign             25        25 "));
    const std::string bytes = ReadText(folder_.path() / "sorted.bam");
    if (expected.empty()) expected = bytes;
    EXPECT_TRUE(bytes == expected) << ranks;
  }
  Write("broken.fq", Reads(100) + "@last\nACGT\n");
  const Ended broken = Run(Command({"--out", "x.bam", "--ranks", "2"}, "broken.fq"));
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, HasSubstr("broken.fq:402: ends inside of the read last"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "x.bam"));
}

TEST_F(PipelineCliTest, RequestsAreFilesOfAFolder) {
  const Ended ended = Run(Command({"--out", "bams", "--requests", "3", "--open", "2", "--link",
                                   "end-to-end", "--memory", "0", "--level", "1"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const std::string first = ReadText(folder_.path() / "bams" / "0.bam");
  EXPECT_GT(first.size(), 1'000u);
  for (const char* other : {"1.bam", "2.bam"})
    EXPECT_TRUE(ReadText(folder_.path() / "bams" / other) == first) << other;
  EXPECT_EQ(ended.out.find(" 0 bytes spilled"), std::string::npos) << ended.out;
}

TEST_F(PipelineCliTest, BadInputIsToldWithItsLine) {
  Write("broken.fq", Reads(300) + "@last\nACGT\n");
  const Ended ended = Run(Command({"--out", "x.bam", "--chunk", "10"}, "broken.fq"));
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("broken.fq:1202: ends inside of the read last"));
  EXPECT_EQ(ended.out, "");
  EXPECT_FALSE(LeftBams());
}

TEST_F(PipelineCliTest, AFileThatCanNotBeMadeIsAFailure) {
  // Long enough that no further letter fits.
  const Ended ended = Run(Command({"--out", std::string(250, 'x') + ".bam"}));
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr(".bam.part can't be made: File name too long"));
}

TEST_F(PipelineCliTest, RefusesWhatCanNotBe) {
  ExpectRefused(Command({"--out", "none/x.bam"}), {"--out: \"none/x.bam\"; allowed: a file in"});
  ExpectRefused(Command({"--out", "x.bam", "--requests", "2"}), {"--out: ", "a folder"});
  ExpectRefused(Command({"--out", "x.bam"}, "none.fq"), {"--reads: \"none.fq\""});
  ExpectRefused(Command({"--out", "x.bam", "--reads", "reads.fq", "reads.fq"}), {"3 files"});
  ExpectRefused(Command({"--out", "x.bam", "--threads", "0"}), {"--threads: \"0\""});
  ExpectRefused(Command({"--out", "x.bam", "--ranks", "0"}), {"--ranks: \"0\""});
  ExpectRefused(Command({"--out", "x.bam", "--threads", "4096"}), {"--threads: "});
  ExpectRefused(Command({"--out", "x.bam", "--level", "10"}), {"--level: \"10\"; allowed: ", "9"});
  ExpectRefused(Command({"--out", "x.bam", "--spill-folder", "none"}), {"--spill-folder"});
  ExpectRefused(Command({}), {"--out: is required"});
  ExpectRefused({"pipeline", "run", "align-sort", "--reference", "reads.fq", "--reads", "reads.fq",
                 "--out", "x.bam"},
                {"reads.fq:1: "});
  EXPECT_FALSE(LeftBams());
}

TEST_F(PipelineCliTest, InterruptedItLeavesNoFile) {
  Write("many.fq", Reads(60'000));
  const pid_t pid = Start(Command({"--out", "x.bam", "--threads", "1"}, "many.fq"));
  for (int i = 0; i < 60'000 && !HasNamelessFile(pid); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(pid, SIGINT);
  const Ended ended = Wait(pid);
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_FALSE(LeftBams());
}

TEST_F(PipelineCliTest, KilledItLeavesNoFile) {
  Write("many.fq", Reads(60'000));
  const pid_t pid = Start(Command({"--out", "x.bam", "--threads", "1"}, "many.fq"));
  for (int i = 0; i < 60'000 && !HasNamelessFile(pid); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(pid, SIGKILL);
  Wait(pid);
  EXPECT_FALSE(LeftBams());
}

}  // namespace
}  // namespace cosched
