// The parts of workloads/genomics together against the programs that they replace: record by record,
// each tag, what `minimap2 -ax sr | samtools sort` writes. Skipped where the programs are not there.

#include "tests/workloads/genomics/align_sort.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/workloads/genomics/generated_reads.h"
#include "tests/workloads/temporary_folder.h"

namespace cosched {
namespace {

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The first difference only, since one record too many shifts all that follow.
void ExpectSameLines(const std::vector<std::string>& ours, const std::vector<std::string>& theirs) {
  EXPECT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    ASSERT_EQ(ours[i], theirs[i]) << "line " << i + 1;
  }
}

class AlignSortTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v minimap2 samtools >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "no minimap2 or no samtools here (Debian: minimap2, samtools)";
    }
    folder_.Write("genome.fa", Fasta(genome_));
    aligner_ = std::make_unique<Aligner>(folder_.PathOf("genome.fa"));
  }

  std::vector<std::string> Run(const std::string& command) {
    const std::string out = folder_.PathOf("said.txt");
    EXPECT_EQ(std::system(("cd " + folder_.Path() + " && set -e; " + command + " >" + out).c_str()),
              0)
        << command;
    return LinesOf(out);
  }

  // `files`: names in the folder.
  void ExpectSameAsPrograms(const std::vector<std::string>& files) {
    std::string arguments;
    for (const std::string& file : files) arguments += " " + file;
    Run("minimap2 -t1 -ax sr genome.fa" + arguments +
        " 2>said.err | samtools sort -o theirs.bam - 2>>said.err");
    theirs_ = Run("samtools view theirs.bam");
    AlignSort(files, {});
    ExpectSameLines(Run("samtools view ours.bam"), theirs_);
    ExpectSameLines(Run("samtools view -H ours.bam | grep -v ^@PG"),
                    Run("samtools view -H theirs.bam | grep -v ^@PG"));
    Run("samtools quickcheck -v ours.bam");
  }

  int64_t AlignSort(const std::vector<std::string>& files, AlignSortOptions options) {
    std::vector<std::string> paths;
    for (const std::string& file : files) paths.push_back(folder_.PathOf(file));
    options.folder = folder_.Path();
    return cosched::AlignSort(*aligner_, paths, folder_.PathOf("ours.bam"), options);
  }

  int CountOf(const std::string& what) const {
    return static_cast<int>(std::count_if(theirs_.begin(), theirs_.end(), [&](const auto& line) {
      return line.find(what) != std::string::npos;
    }));
  }

  TemporaryFolder folder_;
  Random random_{20'261'125};
  ReferenceGenome genome_ = RandomGenome(&random_);
  ReadGenerator generator_{&genome_, &random_};
  std::unique_ptr<Aligner> aligner_;
  std::vector<std::string> theirs_;
};

TEST_F(AlignSortTest, SingleReadsAreAsTheProgramsAlignAndSortThem) {
  folder_.Write("reads.fq", generator_.Singles(2'000));
  ExpectSameAsPrograms({"reads.fq"});
  // The reads are what they should be: with repeats, supplementary alignments and unmapped reads.
  EXPECT_LT(CountOf("\trl:i:0"), static_cast<int>(theirs_.size()));
  EXPECT_GT(CountOf("\tSA:Z:"), 30);
  EXPECT_GT(CountOf("\t4\t*\t0\t"), 100);
  EXPECT_GT(CountOf("NNNNNNNNNN"), 50);
}

TEST_F(AlignSortTest, MatesAreAsTheProgramsAlignAndSortThem) {
  const auto [first, second] = generator_.Pairs(1'000);
  folder_.Write("1.fq", first);
  folder_.Write("2.fq", second);
  ExpectSameAsPrograms({"1.fq", "2.fq"});
  std::set<std::string> flags;
  for (const std::string& line : theirs_) {
    const size_t tab = line.find('\t');
    flags.insert(line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1));
  }
  for (const char* flag : {"83", "99", "147", "163", "77", "141", "73", "133", "69", "137"}) {
    EXPECT_TRUE(flags.contains(flag)) << flag;
  }
  EXPECT_LT(CountOf("\trl:i:0"), static_cast<int>(theirs_.size()));
}

TEST_F(AlignSortTest, MatesInOneFileAreTemplatesToo) {
  std::string text;
  for (int i = 0; i < 500; ++i) {
    const auto [first, second] = generator_.Mates();
    const std::string name = "pair" + std::to_string(i);
    text += generator_.Record(name, first) + generator_.Record(name, second);
    if (i % 3 == 0) text += generator_.Record(name + "x", generator_.Single());
    if (i % 50 == 0) {  // A template of three reads.
      for (const char* suffix : {"t/1", "t/2", "t/3"}) {
        text += generator_.Record(name + suffix, generator_.Single());
      }
    }
  }
  folder_.Write("reads.fq", text);
  ExpectSameAsPrograms({"reads.fq"});
  EXPECT_GT(CountOf("\tFI:i:2"), 5);
}

TEST_F(AlignSortTest, MatesOfDifferentNamesAreAlignedAlone) {
  folder_.Write("1.fq", generator_.Singles(50));
  folder_.Write("2.fq", generator_.Pairs(50).first);
  ExpectSameAsPrograms({"1.fq", "2.fq"});
}

TEST_F(AlignSortTest, PackedFilesAreAsPlainOnes) {
  const auto [first, second] = generator_.Pairs(100);
  folder_.WriteGzip("1.fq.gz", first);
  folder_.WriteGzip("2.fq.gz", second);
  ExpectSameAsPrograms({"1.fq.gz", "2.fq.gz"});
}

TEST_F(AlignSortTest, NoReadsAndOneRead) {
  folder_.Write("none.fq", "");
  ExpectSameAsPrograms({"none.fq"});
  ExpectSameAsPrograms({"none.fq", "none.fq"});
  EXPECT_TRUE(theirs_.empty());
  folder_.Write("one.fq", generator_.Record("one", genome_.bases[0].substr(1'000, 101)));
  ExpectSameAsPrograms({"one.fq"});
  EXPECT_EQ(theirs_.size(), 1u);
}

TEST_F(AlignSortTest, OddFilesAreReadAlike) {
  const std::string bases = genome_.bases[0].substr(2'000, 90);
  const std::string quality(30, '@');
  folder_.Write("odd.fq", "@lines\n" + bases.substr(0, 45) + "\n" + bases.substr(45) +
                              "\n+lines\n" + quality + "\n" + quality + "\n" + quality +
                              "\n\n@windows x\r\n" + bases + "\r\n+\r\n" + std::string(90, '+') +
                              "\r\n@empty\n\n+\n\n" + "@last\n" + bases + "\n+\n" +
                              std::string(90, '~'));
  ExpectSameAsPrograms({"odd.fq"});
  EXPECT_EQ(theirs_.size(), 4u);
}

TEST_F(AlignSortTest, ChunksOrderAndSpillingChangeNoByte) {
  const auto [first, second] = generator_.Pairs(300);
  folder_.Write("1.fq", first);
  folder_.Write("2.fq", second);
  ExpectSameAsPrograms({"1.fq", "2.fq"});
  const std::string expected = folder_.Contents("ours.bam");
  for (const size_t chunk : {1, 100, 10'000}) {
    for (const int64_t memory : {64, 0}) {
      const int64_t spilled = AlignSort(
          {"1.fq", "2.fq"}, {.chunk_reads = chunk, .memory_mib = memory, .shuffle_seed = 1});
      EXPECT_EQ(spilled > 0, memory == 0) << chunk << " " << memory;
      EXPECT_TRUE(folder_.Contents("ours.bam") == expected) << chunk << " " << memory;
    }
  }
}

}  // namespace
}  // namespace cosched
