#include "workloads/genomics/fastq.h"

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "tests/workloads/expect_input_error.h"
#include "tests/workloads/genomics/align_sort.h"
#include "tests/workloads/temporary_folder.h"

namespace cosched {
namespace {

// The text must outlive the reader.
FastqReader ReaderOf(const std::string& text, size_t reads = 1'000) {
  std::vector<FastqReader::File> files;
  files.push_back({"a.fq", OpenBytes(text, "a.fq")});
  return {std::move(files), reads};
}

FastqReader ReaderOf(const std::string& text, const std::string& mates, size_t reads = 1'000) {
  std::vector<FastqReader::File> files;
  files.push_back({"a.fq", OpenBytes(text, "a.fq")});
  files.push_back({"b.fq", OpenBytes(mates, "b.fq")});
  return {std::move(files), reads};
}

// "name:BASES:qualities" of each read, templates in brackets.
std::string Describe(const ReadChunk& chunk) {
  std::string text;
  for (size_t i = 0; i < chunk.Templates(); ++i) {
    text += "[";
    for (size_t j = chunk.FirstOfTemplate(i); j < chunk.EndOfTemplate(i); ++j) {
      const SequencedRead read = chunk.Read(j);
      text += " " + std::string(read.name) + ":" + std::string(read.bases) + ":" +
              std::string(read.qualities);
    }
    text += " ]";
  }
  return text;
}

std::vector<std::string> DescribeAll(FastqReader reader) {
  std::vector<std::string> all;
  for (const ReadChunk& chunk : ReadChunks(std::move(reader))) all.push_back(Describe(chunk));
  return all;
}

void ExpectFastqError(const std::string& text, int line, const std::string& problem) {
  try {
    DescribeAll(ReaderOf(text));
    ADD_FAILURE() << "no error: " << text;
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().file, "a.fq");
    EXPECT_EQ(error.details().line, line) << error.what();
    EXPECT_NE(std::string(error.what()).find(problem), std::string::npos) << error.what();
  }
}

using Described = std::vector<std::string>;

TEST(FastqTest, ReadsARecord) {
  EXPECT_EQ(DescribeAll(ReaderOf("@a x y\nACGT\n+\nIIII\n")), Described{"[ a:ACGT:IIII ]"});
  EXPECT_EQ(DescribeAll(ReaderOf("@a\tx\r\nACGT\r\n+a\r\nII@+\r\n")), Described{"[ a:ACGT:II@+ ]"});
}

TEST(FastqTest, ReadsNothingFromNothing) {
  EXPECT_EQ(DescribeAll(ReaderOf("")), Described{});
  EXPECT_EQ(DescribeAll(ReaderOf("\n\n\n")), Described{});
  EXPECT_EQ(DescribeAll(ReaderOf("", "")), Described{});
}

TEST(FastqTest, ReadsEmptyReadsManyLinesAndNoLastLineEnd) {
  EXPECT_EQ(DescribeAll(ReaderOf("@a\n\n+\n\n@b\nAC\nGT\nN\n+\n@@\n+++\n\n\n@c\nA\n+\nI")),
            Described{"[ a:: ][ b:ACGTN:@@+++ ][ c:A:I ]"});
  EXPECT_EQ(DescribeAll(ReaderOf("@a\n+\n")), Described{"[ a:: ]"});
}

TEST(FastqTest, ReadsRnaAsDna) {
  EXPECT_EQ(DescribeAll(ReaderOf("@a\nAUuR.\n+\nIIIII\n")), Described{"[ a:ATtR.:IIIII ]"});
}

TEST(FastqTest, EndsEachFieldWithNul) {
  const std::string text = "@a\nAC\n+\nII\n@b\n\n+\n\n";
  FastqReader reader = ReaderOf(text);
  ReadChunk chunk;
  ASSERT_TRUE(reader.Next(&chunk));
  for (size_t i = 0; i < 2; ++i) {
    const SequencedRead read = chunk.Read(i);
    for (const std::string_view field : {read.name, read.bases, read.qualities}) {
      EXPECT_EQ(std::string(field.data()), field);
    }
  }
}

TEST(FastqTest, CutsChunksAndCountsReads) {
  std::string text;
  for (int i = 0; i < 7; ++i) text += "@r" + std::to_string(i) + "\nA\n+\nI\n";
  const std::vector<ReadChunk> chunks = ReadChunks(ReaderOf(text, 3));
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].Reads(), 3u);
  EXPECT_EQ(chunks[1].First(), 3);
  EXPECT_EQ(chunks[2].First(), 6);
  EXPECT_EQ(Describe(chunks[2]), "[ r6:A:I ]");
  EXPECT_EQ(ReadChunks(ReaderOf(text, 7)).size(), 1u);
}

TEST(FastqTest, NeighboursOfOneNameAreATemplateThatNoChunkCuts) {
  const std::string a = "@a/1\nA\n+\nI\n@a/2\nC\n+\nI\n";
  EXPECT_EQ(DescribeAll(ReaderOf(a + "@b\nG\n+\nI\n@b\nT\n+\nI\n@a\nA\n+\nI\n")),
            Described{"[ a/1:A:I a/2:C:I ][ b:G:I b:T:I ][ a:A:I ]"});
  EXPECT_EQ(DescribeAll(ReaderOf(a + a + "@c\nA\n+\nI\n", 1)),
            (Described{"[ a/1:A:I a/2:C:I a/1:A:I a/2:C:I ]", "[ c:A:I ]"}));
  // What is no suffix of mates is a part of the name.
  EXPECT_EQ(DescribeAll(ReaderOf("@/1\nA\n+\nI\n@/2\nA\n+\nI\n@c/x\nA\n+\nI\n@c/y\nA\n+\nI\n")),
            Described{"[ /1:A:I ][ /2:A:I ][ c/x:A:I ][ c/y:A:I ]"});
}

TEST(FastqTest, ReadsMatesFromTwoFiles) {
  const std::string first = "@a/1\nA\n+\nI\n@b/1\nC\n+\nI\n";
  const std::string second = "@a/2\nG\n+\nI\n@c/2\nT\n+\nI\n";
  EXPECT_EQ(DescribeAll(ReaderOf(first, second)),
            Described{"[ a/1:A:I a/2:G:I ][ b/1:C:I ][ c/2:T:I ]"});
  EXPECT_EQ(DescribeAll(ReaderOf(first, second, 1)),
            (Described{"[ a/1:A:I a/2:G:I ]", "[ b/1:C:I ][ c/2:T:I ]"}));
}

TEST(FastqTest, RefusesFilesOfUnequalLength) {
  const std::string one = "@a\nA\n+\nI\n";
  ExpectInputError([&] { DescribeAll(ReaderOf(one + "@b\nA\n+\nI\n", one)); }, "b.fq",
                   "b.fq:4: ends before its mates in a.fq do, of which b is the next");
  ExpectInputError([&] { DescribeAll(ReaderOf("", one)); }, "a.fq", "of which a is the next");
}

TEST(FastqTest, BrokenFilesAreToldWithTheirLine) {
  const std::string good = "@good\nACGT\n+\nIIII\n";
  ExpectFastqError(">a\nACGT\n", 1, "a read begins with '>'; allowed: FASTQ");
  ExpectFastqError(good + "ACGT\n", 5, "a read begins with 'A'");
  ExpectFastqError(good + "@\nA\n+\nI\n", 5, "without a name");
  ExpectFastqError(good + "@ a\nA\n+\nI\n", 5, "without a name");
  ExpectFastqError(good + "@@CO\nA\n+\nI\n", 5, "begins with '@'");
  ExpectFastqError(good + "@a\1\nA\n+\nI\n", 5, "of code 1");
  ExpectFastqError(good + "@" + std::string(255, 'a') + "\nA\n+\nI\n", 5, "has 255 bytes");
  ExpectFastqError(good + "@a\nACGT\n", 6, "ends inside of the read a");
  ExpectFastqError(good + "@a", 5, "ends inside of the read a");
  ExpectFastqError(good + "@a\nACGT\n@b\nACGT\n+\nIIII\n", 7, "has a character '@'");
  ExpectFastqError(good + "@a\nAC GT\n+\nIIII\n", 6, "of code 32");
  ExpectFastqError(good + "@a\nACGT\n+\n", 7, "4 bases and 0 qualities");
  ExpectFastqError(good + "@a\nACGT\n+\nIII\n", 8, "4 bases and 3 qualities");
  ExpectFastqError(good + "@a\nACGT\n+\nIIIII\n" + good, 8, "4 bases and 5 qualities");
  ExpectFastqError(good + "@a\nACGT\n+\nIII\x7f\n", 8, "of code 127");
  ExpectFastqError(good + "@a\nAC\n+\nII\nA\n", 9, "a read begins with 'A'");
  ExpectFastqError(std::string("@a\nAC\0T\n+\nIIII\n", 15), 2, "of code 0");
}

TEST(FastqTest, RefusesWhatIsTooLarge) {
  std::string text;
  for (int i = 0; i < 256; ++i) text += "@a\nA\n+\nI\n";
  ExpectFastqError(text, 1024, "more than 255 reads in a row are named a");
  const std::string line(60'000, 'A');
  text = "@a\n";
  for (int i = 0; i < 18; ++i) text += line + "\n";
  ExpectFastqError(text, 19, "more than 1048576 bases");
  ExpectFastqError("@a\n" + std::string(1'200'000, 'A'), 2, "a line longer than");
}

TEST(FastqTest, AReadOfTheLargestSizeIsFine) {
  const std::string bases(FastqReader::kLongestRead, 'A');
  const std::string text = "@a\n" + bases + "\n+\n" + bases + "\n";
  FastqReader reader = ReaderOf(text);
  ReadChunk chunk;
  ASSERT_TRUE(reader.Next(&chunk));
  EXPECT_EQ(chunk.Read(0).bases, bases);
}

TEST(FastqTest, ReadsPackedFilesAndTellsWhereTheyAreCutOff) {
  const TemporaryFolder folder;
  Random random(3);
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "@r" + std::to_string(i) + "\n";
    for (int j = 0; j < 50; ++j) text += "ACGT"[random.Below(4)];
    text += "\n+\n" + std::string(50, 'I') + "\n";
  }
  folder.WriteGzip("a.fq.gz", text);
  EXPECT_EQ(DescribeAll(OpenFastq({folder.PathOf("a.fq.gz")}, 1'000)), DescribeAll(ReaderOf(text)));
  const std::string packed = folder.Contents("a.fq.gz");
  folder.Write("cut.fq.gz", packed.substr(0, packed.size() / 2));
  try {
    DescribeAll(OpenFastq({folder.PathOf("cut.fq.gz")}, 1'000));
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().file, folder.PathOf("cut.fq.gz"));
    EXPECT_NEAR(error.details().line, 40'000, 8'000);
  }
  ExpectInputError([&] { OpenFastq({folder.PathOf("none.fq")}, 1); }, folder.PathOf("none.fq"),
                   "cannot be opened");
}

// Whatever bytes arrive: reads that keep the promises, or an error that names a line of the file. The
// fuzz target asks the same for longer.
TEST(FastqTest, DamagedFilesGiveReadsOrErrors) {
  const std::string good =
      "@a/1 x\nACGTN\n+\nIIIII\n@a/2\nAC\nGT\n+a\n@+II\n\n@b\n\n+\n\n@c\r\nU\r\n+\r\nI\r\n";
  Random random(17);
  int errors = 0;
  for (int i = 0; i < 5'000; ++i) {
    std::string text = good;
    for (uint64_t j = 1 + random.Below(3); j > 0; --j) {
      const size_t at = random.Below(text.size());
      switch (random.Below(4)) {
        case 0: text[at] = static_cast<char>(random.Below(256)); break;
        case 1: text.erase(at, 1 + random.Below(8)); break;
        case 2: text.insert(at, 1, "@+\nA\r\0>~"[random.Below(8)]); break;
        default: text.insert(at, text.substr(random.Below(text.size()), 12)); break;
      }
      if (text.empty()) text = "@";
    }
    try {
      for (const ReadChunk& chunk : ReadChunks(ReaderOf(text, 1 + random.Below(4)))) {
        ASSERT_GT(chunk.Templates(), 0u);
        for (size_t j = 0; j < chunk.Reads(); ++j) {
          const SequencedRead read = chunk.Read(j);
          ASSERT_EQ(read.bases.size(), read.qualities.size());
          ASSERT_FALSE(read.name.empty());
          ASSERT_EQ(read.name.find_first_of(std::string_view(" \t\r\n\0", 5)),
                    std::string_view::npos);
        }
      }
    } catch (const InputError& error) {
      ++errors;
      ASSERT_EQ(error.details().file, "a.fq");
      ASSERT_LE(error.details().line, std::count(text.begin(), text.end(), '\n') + 1);
      ASSERT_GE(error.details().line, 1);
    }
  }
  EXPECT_GT(errors, 500);
  EXPECT_LT(errors, 4'900);
}

}  // namespace
}  // namespace cosched
