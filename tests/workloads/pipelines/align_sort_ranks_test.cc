// align-sort on several ranks, each with an aligner of its own as processes have: the file of one
// rank, byte by byte, wherever calls are made.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/gates/packed_bytes.h"
#include "tests/engine/gates/rank_group.h"
#include "tests/workloads/genomics/generated_reads.h"
#include "tests/workloads/temporary_folder.h"
#include "workloads/pipelines/align_sort.h"

namespace cosched {
namespace {

class AlignSortRanksTest : public ::testing::Test {
 protected:
  AlignSortRanksTest() {
    folder_.Write("genome.fa", Fasta(genome_));
    std::string first, second;
    for (int i = 0; i < 1'000; ++i) {
      const auto [mate, other] = generator_.Mates();
      const std::string name = "pair" + std::to_string(i);
      first += generator_.Record(name + "/1", mate);
      second += generator_.Record(name + "/2", other);
    }
    folder_.Write("1.fq", first);
    folder_.Write("2.fq", second);
  }

  AlignSortSettings Settings(int threads) const {
    return {.reference = folder_.PathOf("genome.fa"),
            .reads = {{folder_.PathOf("1.fq"), folder_.PathOf("2.fq")}},
            .out = folder_.PathOf("out.bam"),
            .chunk_reads = 50,
            .threads = threads,
            .progress = std::make_shared<AlignSortProgress>()};
  }

  // `here`: threads of rank 0.
  std::string BamOf(int ranks, int here) {
    const AlignSortSettings settings = Settings(ranks);
    const PipelineProgram program = MakeAlignSort(settings);
    std::vector<RankStages> stages = {{program.stages, program.travels}};
    for (int rank = 1; rank < ranks; ++rank) {
      const PipelineProgram other = MakeAlignSort(Settings(1));
      stages.push_back({other.stages, other.travels});
    }
    RankGroup group(program.spec, stages, here);
    group.OfRank0().Submit({0, program.items(0, /*work=*/1)});
    group.End();
    group.Close();
    const PipelineAnswer& answer = group.Results().at(0).answer;
    EXPECT_EQ(answer.status, PipelineAnswer::Status::kDone) << answer.why;
    EXPECT_EQ(settings.progress->reads_aligned, 2'000);
    return folder_.Contents("out.bam");
  }

  TemporaryFolder folder_;
  Random random_{5};
  ReferenceGenome genome_ = RandomGenome(&random_);
  ReadGenerator generator_{&genome_, &random_};
};

TEST_F(AlignSortRanksTest, RanksChangeNoByte) {
  const std::string expected = BamOf(1, 1);
  EXPECT_GT(expected.size(), 10'000u);
  for (const int ranks : {2, 4}) EXPECT_TRUE(BamOf(ranks, 1) == expected) << ranks;
}

// What a payload is on the way is what it was, and what is cut short is refused.
TEST_F(AlignSortRanksTest, PayloadsTravelWhole) {
  const PipelineProgram program = MakeAlignSort(Settings(1));
  std::set<std::string> travelled;
  for (size_t i = 0; i < program.travels.size(); ++i) {
    if (program.travels[i]) travelled.insert(program.spec.stages[i].name);
  }
  EXPECT_EQ(travelled, (std::set<std::string>{"align", "sort", "compress"}));

  const PayloadCodec& reads = program.travels[1]->takes;
  PackedWriter writer;
  writer.Number(int64_t{17});
  writer.Count(1);
  for (const char* text : {"name", "ACGT", "IIII"}) writer.Text(text);
  const std::string bytes = writer.Take();
  EXPECT_EQ(reads.encode(reads.decode(bytes, nullptr)), bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(reads.decode(bytes.substr(0, size), nullptr), MalformedBytes) << size;
  }
  std::string shorter = bytes;
  shorter.replace(shorter.find("IIII") - 8, 12, std::string("\3\0\0\0\0\0\0\0III", 11));
  EXPECT_THROW(reads.decode(shorter, nullptr), MalformedBytes);

  // A record's place behind the end of the records.
  writer.Count(1);
  for (const uint64_t number : {1, 2, 3}) writer.Number(number);
  writer.Text("1234567");
  EXPECT_THROW(program.travels[2]->makes.decode(writer.Take(), nullptr), MalformedBytes);
}

}  // namespace
}  // namespace cosched
