#include "workloads/genomics/aligner.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/workloads/expect_input_error.h"
#include "tests/workloads/genomics/align_sort.h"
#include "tests/workloads/genomics/generated_reads.h"

namespace cosched {
namespace {

// The tab-separated fields of a line.
std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == '\t') {
      fields.emplace_back();
    } else if (c != '\n') {
      fields.back() += c;
    }
  }
  return fields;
}

class AlignerTest : public testing::Test {
 protected:
  std::string Align(const ReadChunk& chunk) {
    Aligner::Buffer buffer;
    return AlignChunk(aligner_, chunk, &buffer);
  }
  static ReadChunk Chunk(const std::vector<std::string>& bases, const std::string& name = "r") {
    ReadChunk chunk;
    for (const std::string& read : bases) chunk.Add({name, read, std::string(read.size(), 'F')});
    return chunk;
  }
  ReadChunk Mixed(int templates) {
    ReadChunk chunk;
    for (int i = 0; i < templates; ++i) {
      const auto [first, second] = generator_.Mates();
      const std::string name = "r" + std::to_string(i);
      chunk.Add({name, first, std::string(first.size(), 'F')});
      if (i % 2 == 0) chunk.Add({name, second, std::string(second.size(), 'F')});
    }
    return chunk;
  }

  Random random_{11};
  ReferenceGenome genome_ = RandomGenome(&random_);
  ReadGenerator generator_{&genome_, &random_};
  Aligner aligner_{genome_};
};

TEST_F(AlignerTest, FindsAReadWhereItComesFrom) {
  const std::string bases = genome_.bases[4].substr(4'000, 100);
  const std::vector<std::string> fields = Fields(Align(Chunk({bases})));
  ASSERT_EQ(fields.size(), 21u);
  const std::vector<std::string> expected = {
      "r", "0", "plasmid.1|x", "4001", "60", "100M", "*", "0", "0", bases, std::string(100, 'F')};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), fields.begin()));
  EXPECT_EQ(fields[11], "NM:i:0");
  EXPECT_EQ(fields[13], "AS:i:200");
  EXPECT_EQ(fields[20], "rl:i:0");
}

TEST_F(AlignerTest, TellsRepetitiveBases) {
  const std::string bases = genome_.bases[2].substr(0, 70) + genome_.bases[4].substr(100, 60);
  const std::vector<std::string> fields = Fields(Align(Chunk({bases})));
  ASSERT_TRUE(fields.back().starts_with("rl:i:")) << fields.back();
  EXPECT_GT(std::stoi(fields.back().substr(5)), 20);
  // A read without bases does not show those of the one before it.
  Aligner::Buffer buffer;
  AlignChunk(aligner_, Chunk({bases}), &buffer);
  EXPECT_EQ(AlignChunk(aligner_, Chunk({""}), &buffer),
            std::string("r\t4\t*\t0\t0\t*\t*\t0\t0\t\t*\trl:i:0\n"));
}

TEST_F(AlignerTest, MatesPointAtEachOther) {
  const std::string fragment = genome_.bases[4].substr(4'000, 350);
  const std::string second = ReverseComplementOf(fragment.substr(250));
  const std::string sam = Align(Chunk({fragment.substr(0, 100), second}));
  const size_t middle = sam.find('\n') + 1;
  const std::vector<std::string> left = Fields(sam.substr(0, middle));
  const std::vector<std::string> right = Fields(sam.substr(middle));
  ASSERT_EQ(left[1], "99");
  ASSERT_EQ(right[1], "147");
  EXPECT_EQ(left[3], "4001");
  EXPECT_EQ(left[7], "4251");
  EXPECT_EQ(left[8], "350");
  EXPECT_EQ(right[8], "-350");
  EXPECT_EQ(right[9], fragment.substr(250));  // As on the reference's strand.
}

TEST_F(AlignerTest, SaysSoWhereNothingIsFound) {
  EXPECT_EQ(Align(Chunk({std::string(5, 'N')})),
            "r\t4\t*\t0\t0\t*\t*\t0\t0\tNNNNN\tFFFFF\trl:i:0\n");
}

TEST_F(AlignerTest, ManyCallersGiveWhatOneGives) {
  const ReadChunk chunk = Mixed(400);
  const std::string expected = Align(chunk);
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts) threads.emplace_back([&] { text = Align(chunk); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_TRUE(text == expected);
}

// What a caller did before must not matter: templates are dealt out in any order.
TEST_F(AlignerTest, TemplatesDoNotDependOnThoseBeforeThem) {
  const ReadChunk chunk = Mixed(200);
  Aligner::Buffer used;
  AlignChunk(aligner_, chunk, &used);
  for (size_t i = chunk.Templates(); i-- > 0;) {
    Aligner::Buffer fresh;
    std::string expected;
    std::string text;
    aligner_.Align(chunk, i, &fresh, &expected);
    aligner_.Align(chunk, i, &used, &text);
    ASSERT_EQ(text, expected);
  }
}

TEST_F(AlignerTest, RefusesAReferenceThatIsNone) {
  ExpectInputError([] { Aligner("/no/genome.fa"); }, "/no/genome.fa", "cannot be opened");
}

}  // namespace
}  // namespace cosched
