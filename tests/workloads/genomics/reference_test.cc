#include "workloads/genomics/reference.h"

#include <gtest/gtest.h>

#include "tests/workloads/expect_input_error.h"
#include "tests/workloads/genomics/generated_reads.h"

namespace cosched {
namespace {

ReferenceGenome Read(const std::string& text) { return ReadFasta(OpenBytes(text, "g.fa"), "g.fa"); }

void ExpectFastaError(const std::string& text, int line, const std::string& problem) {
  ExpectInputError([&] { Read(text); }, "g.fa",
                   "g.fa" + (line > 0 ? ":" + std::to_string(line) : "") + ": " + problem);
}

TEST(ReferenceTest, ReadsSequencesInTheirOrder) {
  const ReferenceGenome genome = Read(">b some words\nACGT\nac\n\nN\n>a\n>c\tx\r\nT\r\n");
  ASSERT_EQ(genome.sequences.size(), 3u);
  EXPECT_EQ(genome.sequences[0].name, "b");
  EXPECT_EQ(genome.bases, (std::vector<std::string>{"ACGTacN", "", "T"}));
  EXPECT_EQ(genome.sequences[0].length, 7);
  EXPECT_EQ(genome.sequences[1].length, 0);
  EXPECT_EQ(genome.sequences[2].name, "c");
}

TEST(ReferenceTest, ReadsWhatTheGeneratorWrites) {
  Random random(5);
  const ReferenceGenome genome = RandomGenome(&random);
  EXPECT_EQ(Read(Fasta(genome)).bases, genome.bases);
}

TEST(ReferenceTest, RefusesWhatIsNoFasta) {
  ExpectFastaError("", 0, "has no sequences");
  ExpectFastaError("\nACGT\n", 2, "begins with 'A'");
  ExpectFastaError("@a\nA\n+\nI\n", 1, "begins with '@'");
  ExpectFastaError(">a\nAC GT\n", 2, "the sequence a has a character of code 32");
  ExpectFastaError(">a\nA\n>a\nA\n", 3, "has a second sequence named a");
  ExpectFastaError(">\nA\n", 1, "has a sequence without a name");
  ExpectFastaError(">*\nA\n", 1, "a sequence's name begins with '*'");
  ExpectFastaError(">a\xc3\nA\n", 1, "a sequence's name has a character of code 195");
}

}  // namespace
}  // namespace cosched
