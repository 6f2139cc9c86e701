// align-sort as a pipeline: against the programs that it replaces, and against itself with other
// chunks, cores and requests beside it; what fails or is cancelled leaves the others alone and no
// file behind.

#include "workloads/pipelines/align_sort.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "engine/base/error.h"
#include "engine/gates/pipeline.h"
#include "tests/workloads/genomics/align_sort.h"
#include "tests/workloads/genomics/generated_reads.h"
#include "tests/workloads/pipelines/started_pipeline.h"
#include "tests/workloads/temporary_folder.h"

namespace cosched {
namespace {

using Status = PipelineAnswer::Status;
using ::testing::HasSubstr;

// Files that this process has open there, without a name, too.
int FilesOpenBelow(const std::string& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    count += target.starts_with(folder) ? 1 : 0;
  }
  return count;
}

class AlignSortPipelineTest : public ::testing::Test {
 protected:
  AlignSortPipelineTest() {
    folder_.Write("genome.fa", Fasta(genome_));
    std::filesystem::create_directory(Out());
    std::filesystem::create_directory(folder_.PathOf("spills"));
  }

  std::filesystem::path Out() const { return folder_.PathOf("out"); }
  std::set<std::string> OutFiles() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(Out())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  std::string Bam(int64_t number) const {
    return folder_.Contents("out/" + std::to_string(number) + ".bam");
  }

  // `reads`: names of files in the folder, by request.
  AlignSortSettings Settings(const std::vector<std::vector<std::string>>& reads) const {
    AlignSortSettings settings{.reference = folder_.PathOf("genome.fa"),
                               .out = Out().string(),
                               .chunk_reads = 100,
                               .threads = 2,
                               .memory_mib = 64,
                               .spill_folder = folder_.PathOf("spills"),
                               .progress = std::make_shared<AlignSortProgress>()};
    for (const std::vector<std::string>& names : reads) {
      std::vector<std::string>& paths = settings.reads.emplace_back();
      for (const std::string& name : names) paths.push_back(folder_.PathOf(name));
    }
    return settings;
  }

  // What the command writes, by lines.
  std::vector<std::string> Output(const std::string& command) {
    const std::string out = folder_.PathOf("said.txt");
    EXPECT_EQ(std::system(("cd " + folder_.Path() + " && set -e; " + command + " >" + out).c_str()),
              0)
        << command;
    std::istringstream text(folder_.Contents("said.txt"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  // Returns how many records there are.
  size_t ExpectSameAsPrograms(const std::vector<std::string>& files) {
    std::string arguments;
    for (const std::string& file : files) arguments += " " + file;
    const std::vector<std::string> theirs =
        Output("minimap2 -t1 -ax sr genome.fa" + arguments +
               " 2>said.err | samtools sort -o theirs.bam - 2>>said.err; samtools view theirs.bam");
    StartedPipeline run(MakeAlignSort(Settings({files})), {2, 2});
    run.Submit(0);
    const PipelineResult result = run.Await(0);
    EXPECT_EQ(result.answer.status, Status::kDone) << result.answer.why;
    const std::vector<std::string> ours = Output("samtools view out/0.bam");
    EXPECT_EQ(ours.size(), theirs.size());
    const auto [left, right] = std::ranges::mismatch(ours, theirs);
    if (left != ours.end() && right != theirs.end()) {
      EXPECT_EQ(*left, *right);
    }
    EXPECT_EQ(Output("samtools view -H out/0.bam | grep -v ^@PG"),
              Output("samtools view -H theirs.bam | grep -v ^@PG"));
    Output("samtools quickcheck -v out/0.bam");
    return theirs.size();
  }

  TemporaryFolder folder_;
  Random random_{20'261'125};
  ReferenceGenome genome_ = RandomGenome(&random_);
  ReadGenerator generator_{&genome_, &random_};
};

TEST_F(AlignSortPipelineTest, RecordsAreThoseOfThePrograms) {
  if (std::system("command -v minimap2 samtools >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no minimap2 or no samtools here (Debian: minimap2, samtools)";
  }
  folder_.Write("single.fq", generator_.Singles(2'000));
  EXPECT_GT(ExpectSameAsPrograms({"single.fq"}), 2'000u);
  const auto [first, second] = generator_.Pairs(1'000);
  folder_.Write("1.fq", first);
  folder_.Write("2.fq", second);
  EXPECT_GT(ExpectSameAsPrograms({"1.fq", "2.fq"}), 2'000u);
  folder_.WriteGzip("1.fq.gz", first);
  folder_.WriteGzip("2.fq.gz", second);
  EXPECT_GT(ExpectSameAsPrograms({"1.fq.gz", "2.fq.gz"}), 2'000u);
  folder_.Write("none.fq", "");
  EXPECT_EQ(ExpectSameAsPrograms({"none.fq"}), 0u);
  EXPECT_EQ(ExpectSameAsPrograms({"none.fq", "none.fq"}), 0u);
  folder_.Write("one.fq", generator_.Record("one", genome_.bases[0].substr(1'000, 101)));
  EXPECT_EQ(ExpectSameAsPrograms({"one.fq"}), 1u);
  std::string unknown;
  for (int i = 0; i < 300; ++i) {
    std::string bases = genome_.bases[0].substr(random_.Below(50'000), 101);
    for (char& base : bases) base = random_.Below(4) == 0 ? 'N' : base;
    unknown += generator_.Record("n" + std::to_string(i), i % 10 == 0 ? "NNNNNNNNNN" : bases);
  }
  folder_.Write("n.fq", unknown);
  EXPECT_GE(ExpectSameAsPrograms({"n.fq"}), 300u);
}

// Blocks are compressed side by side, several groups of them, and come into one order.
TEST_F(AlignSortPipelineTest, BlocksAreWrittenInOrder) {
  folder_.Write("reads.fq", generator_.Singles(6'000));
  AlignSortSettings settings = Settings({{"reads.fq"}});
  std::set<std::string> contents;
  for (const int lanes : {1, 2, 2, 2, 4}) {
    settings.threads = lanes;
    StartedPipeline run(MakeAlignSort(settings), {lanes, 1});
    run.Submit(0);
    EXPECT_EQ(run.Await(0).answer.status, Status::kDone);
    EXPECT_GT(run.pipeline().Sample().stages[6].taken, 3);
    contents.insert(Bam(0));
  }
  EXPECT_EQ(contents.size(), 1u);
}

// Requests of two kinds, as many as may be open and one that waits, while the pools are resized and
// paused at random.
TEST_F(AlignSortPipelineTest, ChunksCoresAndOpenRequestsChangeNoByte) {
  const auto [first, second] = generator_.Pairs(60);
  folder_.Write("1.fq", first);
  folder_.Write("2.fq", second);
  folder_.Write("single.fq", generator_.Singles(80));
  AlignSortSettings settings = Settings({{"1.fq", "2.fq"}, {"single.fq"}});
  std::vector<std::string> expected;
  {
    StartedPipeline run(MakeAlignSort(settings), {1, 1});
    for (const int64_t number : {0, 1}) {
      run.Submit(number);
      EXPECT_EQ(run.Await(number).answer.status, Status::kDone);
      expected.push_back(Bam(number));
    }
    EXPECT_NE(expected[0], expected[1]);
  }
  constexpr int kResizes = 50;
  constexpr Split kSplits[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {0, 0}};
  for (int open = 1; open <= 8; ++open) {
    for (const int64_t chunk : {1, 100, 10'000}) {
      SCOPED_TRACE("open " + std::to_string(open) + ", chunk " + std::to_string(chunk));
      settings.open = {open % 2 == 0 ? CreditLink::kLinear : CreditLink::kEndToEnd, open, open};
      settings.chunk_reads = chunk;
      settings.memory_mib = open % 3;
      StartedPipeline run(MakeAlignSort(settings), {2, 2});
      int64_t submitted = 0;
      for (int i = 0; i < kResizes; ++i) {
        while (submitted <= open || run.Answered(submitted - open - 1)) run.Submit(submitted++);
        run.Resize(kSplits[random_.Below(std::size(kSplits))]);
        std::this_thread::sleep_for(std::chrono::microseconds(random_.Below(3'000)));
      }
      run.Resize({2, 2});
      for (int64_t number = 0; number < submitted; ++number) {
        const PipelineResult result = run.Await(number);
        EXPECT_EQ(result.answer.status, Status::kDone) << result.answer.why;
        EXPECT_TRUE(Bam(number) == expected[number % 2]) << number;
        std::filesystem::remove(Out() / (std::to_string(number) + ".bam"));
      }
    }
  }
  EXPECT_TRUE(OutFiles().empty());
}

// Calls wait until the test lets them go on; the first one in a piece of its own, after which it can be
// paused before it has begun.
class HeldUp {
 public:
  StageFactory Around(StageFactory inner) {
    return [this, inner = std::move(inner)] { return std::make_unique<Held>(this, inner()); };
  }
  void AwaitCall() { called_.wait(false); }
  void LetGoOn() {
    goes_on_ = true;
    goes_on_.notify_all();
  }

 private:
  class Held : public Stage {
   public:
    Held(HeldUp* here, std::unique_ptr<Stage> inner) : here_(*here), inner_(std::move(inner)) {}
    bool Run(StageCall& call) override {
      const bool first = !here_.called_.exchange(true);
      here_.called_.notify_all();
      here_.goes_on_.wait(false);
      return first || inner_->Run(call);
    }
    bool InPieces() const override { return inner_->InPieces(); }

   private:
    HeldUp& here_;
    const std::unique_ptr<Stage> inner_;
  };

  std::atomic<bool> called_{false}, goes_on_{false};
};

TEST_F(AlignSortPipelineTest, PausesInAnyStageChangeNoByte) {
  folder_.Write("reads.fq", generator_.Singles(300));
  const AlignSortSettings settings = Settings({{"reads.fq"}});
  {
    StartedPipeline run(MakeAlignSort(settings), {2, 1});
    run.Submit(0);
    EXPECT_EQ(run.Await(0).answer.status, Status::kDone);
  }
  const std::string expected = Bam(0);
  for (size_t stage = 0; stage < MakeAlignSort(settings).stages.size(); ++stage) {
    std::filesystem::remove(Out() / "0.bam");
    HeldUp held;
    PipelineProgram program = MakeAlignSort(settings);
    SCOPED_TRACE(program.spec.stages[stage].name);
    program.stages[stage] = held.Around(program.stages[stage]);
    const bool computes = !program.spec.stages[stage].waits;
    StartedPipeline run(std::move(program), {2, 1});
    run.Submit(0);
    held.AwaitCall();
    run.Resize({0, 0});
    held.LetGoOn();
    EXPECT_TRUE(run.pipeline().Pools().WaitSettled(std::chrono::seconds(60)));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(computes && run.Answered(0)) << "it was paused";
    run.Resize({2, 1});
    EXPECT_EQ(run.Await(0).answer.status, Status::kDone);
    EXPECT_TRUE(Bam(0) == expected);
  }
}

TEST_F(AlignSortPipelineTest, ABrokenFileFailsItsRequestOnly) {
  std::vector<std::vector<std::string>> reads;
  for (int i = 0; i < 5; ++i) {
    reads.push_back({std::to_string(i) + ".fq"});
    folder_.Write(reads.back()[0], generator_.Singles(400));
  }
  AlignSortSettings settings = Settings(reads);
  settings.open = {CreditLink::kLinear, 3, 3};
  const auto run_all = [&] {
    StartedPipeline run(MakeAlignSort(settings), {2, 1});
    for (int64_t number = 0; number < 5; ++number) run.Submit(number);
    std::vector<PipelineResult> results;
    for (int64_t number = 0; number < 5; ++number) results.push_back(run.Await(number));
    const PipelineSample sample = run.pipeline().Sample();
    EXPECT_EQ(sample.open, 0);
    for (const PipelineSample::Stage& stage : sample.stages) EXPECT_EQ(stage.requests, 0);
    return results;
  };
  run_all();
  std::vector<std::string> expected;
  for (int64_t number = 0; number < 5; ++number) expected.push_back(Bam(number));
  std::filesystem::remove(Out() / "3.bam");

  // The 351st read has no '+'.
  std::istringstream lines(folder_.Contents("3.fq"));
  std::string broken;
  int count = 0;
  for (std::string line; std::getline(lines, line);) broken += ++count == 1'403 ? "" : line + "\n";
  folder_.Write("3.fq", broken);
  const std::vector<PipelineResult> results = run_all();
  for (size_t number = 0; number < 5; ++number) {
    const PipelineResult& result = results[number];
    if (number == 3) {
      EXPECT_EQ(result.answer.status, Status::kFailed);
      EXPECT_EQ(result.stage, "split");
      EXPECT_THAT(result.answer.why, HasSubstr("3.fq:1403: "));
      EXPECT_TRUE(result.answer.bad_input);
      continue;
    }
    EXPECT_EQ(result.answer.status, Status::kDone) << result.answer.why;
    EXPECT_TRUE(Bam(static_cast<int64_t>(number)) == expected[number]) << number;
  }
  EXPECT_EQ(OutFiles(), (std::set<std::string>{"0.bam", "1.bam", "2.bam", "4.bam"}));
}

TEST_F(AlignSortPipelineTest, WhatIsMissingFailsTheRequest) {
  folder_.Write("reads.fq", generator_.Singles(10));
  AlignSortSettings settings = Settings({{"reads.fq"}, {"none.fq"}});
  StartedPipeline run(MakeAlignSort(settings), {1, 1});
  run.Submit(1);
  EXPECT_THAT(run.Await(1).answer.why, HasSubstr("none.fq"));
  settings.out = (Out() / "none" / "x.bam").string();
  StartedPipeline nowhere(MakeAlignSort(settings), {1, 1});
  nowhere.Submit(0);
  EXPECT_THAT(nowhere.Await(0).answer.why, HasSubstr("none/x.bam.part can't be made"));
  nowhere.Submit(1);
  EXPECT_THAT(nowhere.Await(1).answer.why, HasSubstr("a folder, for several requests"));
  EXPECT_TRUE(OutFiles().empty());
}

// When it is told: its spilled records, its file and its credits.
TEST_F(AlignSortPipelineTest, AFailedRequestHoldsNothing) {
  std::string broken = generator_.Singles(1'000);
  broken += "@last\nACGT\nACGT\n";
  folder_.Write("broken.fq", broken);
  AlignSortSettings settings = Settings({{"broken.fq"}});
  settings.memory_mib = 0;
  StartedPipeline* running = nullptr;
  int told = 0;
  StartedPipeline run(MakeAlignSort(settings), {2, 1}, [&](const PipelineResult& result) {
    EXPECT_EQ(result.answer.status, Status::kFailed);
    EXPECT_EQ(FilesOpenBelow(folder_.Path()), 0);
    EXPECT_EQ(OutFiles(), std::set<std::string>{});
    for (const PipelineSample::Stage& stage : running->pipeline().Sample().stages) {
      EXPECT_EQ(stage.requests + stage.items + stage.parked + stage.credits, 0) << stage.name;
    }
    ++told;
  });
  running = &run;
  for (int64_t number = 0; number < 3; ++number) {
    run.Submit(number);
    EXPECT_THAT(run.Await(number).answer.why, HasSubstr("broken.fq:4003: "));
  }
  EXPECT_EQ(told, 3);
  EXPECT_GT(settings.progress->spilled_bytes, 0);
}

// What is at the gates does not grow with the request, and sorted records are spilled.
TEST_F(AlignSortPipelineTest, MemoryDoesNotGrowWithTheRequest) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) {
    text += generator_.Record("r" + std::to_string(i),
                              genome_.bases[0].substr(random_.Below(50'000), 101));
  }
  folder_.Write("large.fq", text);
  AlignSortSettings settings = Settings({{"large.fq"}});
  {
    StartedPipeline run(MakeAlignSort(settings), {1, 1});
    run.Submit(0);
    EXPECT_EQ(run.Await(0).answer.status, Status::kDone);
  }
  const std::string expected = Bam(0);
  settings.memory_mib = 1;
  std::map<std::string, int64_t> peak;
  StartedPipeline run(MakeAlignSort(settings), {2, 1});
  run.Submit(0);
  while (!run.Answered(0)) {
    for (const PipelineSample::Stage& stage : run.pipeline().Sample().stages) {
      peak[stage.name] = std::max(peak[stage.name], stage.bytes);
    }
  }
  EXPECT_EQ(run.Await(0).answer.status, Status::kDone);
  EXPECT_TRUE(Bam(0) == expected);
  int64_t chunk = 0, all = 0;
  for (const ReadChunk& read : ReadChunks(OpenFastq(settings.reads[0], 100))) {
    chunk = std::max(chunk, static_cast<int64_t>(read.Memory()));
    all += static_cast<int64_t>(read.Memory());
  }
  for (const StageSpec& stage : run.spec().stages) {
    if (stage.from.items == 0) {
      EXPECT_EQ(peak[stage.name], 0) << stage.name;  // No records where a request is whole.
      continue;
    }
    // An item is a chunk, or its records, or eight blocks of 64 KiB.
    const bool blocks = stage.name == "compress" || stage.name == "write";
    const int64_t item = blocks ? 8 << 17 : 6 * chunk;
    EXPECT_LE(peak[stage.name], stage.from.items * item) << stage.name;
  }
  EXPECT_GT(peak["align"], 0);
  EXPECT_GT(all, 3 * run.spec().stages[1].from.items * chunk);
  EXPECT_GT(settings.progress->spilled_bytes, 1 << 20);
}

TEST_F(AlignSortPipelineTest, CancellingLeavesNothing) {
  folder_.Write("reads.fq", generator_.Singles(3'000));
  AlignSortSettings settings = Settings({{"reads.fq"}});
  settings.memory_mib = 0;
  StartedPipeline run(MakeAlignSort(settings), {2, 1}, [&](const PipelineResult& result) {
    if (result.answer.status != Status::kCancelled) return;
    EXPECT_EQ(OutFiles(), std::set<std::string>{});
    EXPECT_EQ(FilesOpenBelow(folder_.Path()), 0);
  });
  int cancelled = 0;
  // From the first chunk to the last block.
  for (int64_t number = 0; number < 15; ++number) {
    const int64_t before = settings.progress->reads_aligned;
    run.Submit(number);
    const auto written = [&] { return run.pipeline().Sample().stages[6].taken; };
    const int64_t written_before = written();
    while (settings.progress->reads_aligned - before < number * 250 && !run.Answered(number) &&
           written() == written_before) {
    }
    run.pipeline().Cancel(number, "the test has seen enough");
    const PipelineResult result = run.Await(number);
    if (result.answer.status == Status::kDone) {
      EXPECT_EQ(OutFiles().size(), 1u);
      std::filesystem::remove(Out() / (std::to_string(number) + ".bam"));
    } else {
      EXPECT_EQ(result.answer.status, Status::kCancelled);
      ++cancelled;
    }
  }
  EXPECT_GE(cancelled, 8);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.PathOf("spills")));
}

TEST_F(AlignSortPipelineTest, SettingsThatCanNotBeAreRefused) {
  folder_.Write("reads.fq", generator_.Singles(1));
  const auto refusal = [&](const std::function<void(AlignSortSettings*)>& change) -> std::string {
    AlignSortSettings settings = Settings({{"reads.fq"}});
    change(&settings);
    try {
      MakeAlignSort(settings);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal([](auto*) {}), "none");
  EXPECT_THAT(refusal([](auto* s) { s->reads = {}; }), HasSubstr("reads: none"));
  EXPECT_THAT(refusal([](auto* s) { s->reads = {{"1", "2", "3"}}; }), HasSubstr("3 files"));
  EXPECT_EQ(refusal([](auto* s) { s->out = ""; }), "none") << "a file without a name";
  EXPECT_THAT(refusal([](auto* s) { s->chunk_reads = 0; }), HasSubstr("chunk: 0; allowed: 1 to"));
  EXPECT_THAT(refusal([](auto* s) { s->compression = 10; }), HasSubstr("level: 10"));
  EXPECT_THAT(refusal([](auto* s) { s->memory_mib = -1; }), HasSubstr("memory_mib: -1"));
  EXPECT_THAT(refusal([](auto* s) { s->reference += "x"; }), HasSubstr("genome.fax"));
  for (const CreditLink link : {CreditLink::kLinear, CreditLink::kEndToEnd}) {
    for (const int open : {1, 4, 64}) {
      AlignSortSettings settings = Settings({{"reads.fq"}});
      settings.open = {link, 1, open};
      EXPECT_NO_THROW(Check(MakeAlignSort(settings).spec)) << open;
    }
  }
}

}  // namespace
}  // namespace cosched
