#include "experiments/cli/pipeline.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/topology.h"
#include "engine/gates/pipeline.h"
#include "experiments/cli/pipeline_classify.h"
#include "experiments/cli/pipeline_increment.h"
#include "experiments/cli/pipeline_ranks.h"
#include "experiments/cli/pipeline_run.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/option_refusal.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/large_blocks.h"
#include "workloads/pipelines/align_sort.h"

namespace cosched {
namespace {

constexpr int64_t kMostRequestsOfARun = 1'000'000;

struct AlignSortArguments {
  std::string reference, out, spill_folder;
  std::vector<std::string> reads;
  std::optional<int> threads, ranks;
  int64_t requests = 1;
  int open = 1;
  CreditLink link = CreditLink::kLinear;
  int64_t chunk = 10'000;
  int level = 6;
  int64_t memory_mib = 768;
};

// Before anything is read: it would be a pity to find out afterwards.
void CheckAlignSortFiles(const AlignSortArguments& arguments) {
  std::error_code ignored;
  const auto is_folder = [&](const std::filesystem::path& path) {
    return std::filesystem::is_directory(path, ignored);
  };
  if (arguments.requests > 1 && !is_folder(arguments.out))
    RefuseValue("--out", arguments.out, "a folder that is there, for several requests");
  if (!is_folder(std::filesystem::absolute(arguments.out).parent_path()))
    RefuseValue("--out", arguments.out, "a file in a folder that is there");
  if (!arguments.spill_folder.empty() && !is_folder(arguments.spill_folder))
    RefuseValue("--spill-folder", arguments.spill_folder, "a folder that is there");
  if (!std::filesystem::exists(arguments.reference, ignored))
    RefuseValue("--reference", arguments.reference, "a FASTA file, packed or not");
  for (const std::string& file : arguments.reads) {
    if (!std::filesystem::exists(file, ignored))
      RefuseValue("--reads", file, "a FASTQ file, packed or not");
  }
}

AlignSortSettings SettingsOf(const AlignSortArguments& arguments, int threads) {
  return {.reference = arguments.reference,
          .reads = {arguments.reads},
          .out = arguments.out,
          .chunk_reads = arguments.chunk,
          .open = {arguments.link, arguments.open, arguments.open},
          .threads = threads,
          .compression = arguments.level,
          .memory_mib = arguments.memory_mib,
          .spill_folder = arguments.spill_folder,
          .progress = std::make_shared<AlignSortProgress>()};
}

int ReportAlignSort(const PipelineRun& run, const AlignSortProgress& progress) {
  int64_t done = 0;
  for (const PipelineResult& result : run.Results()) {
    if (result.answer.status != PipelineAnswer::Status::kDone) continue;
    ++done;
    const auto& file = result.answer.payloads.front().As<AlignSortResult>();
    fmt::print("{}: {} reads, {} records, {} bytes\n", file.out, file.reads, file.records,
               file.bytes);
  }
  const int exit_code =
      run.TellFailures([](int64_t request) { return fmt::format("request {}", request); });
  if (done > 0 || exit_code == kInterrupted) {
    const auto reads = static_cast<double>(progress.reads_aligned);
    fmt::print("{:.0f} reads in {:.2f} s, {:.0f} reads/s; {} bytes spilled\n{}", reads,
               run.Seconds(), reads / run.Seconds(), progress.spilled_bytes.load(),
               run.StageTable());
  }
  return exit_code;
}

int RunAlignSort(const AlignSortArguments& arguments) {
  const Topology topology = Topology::ThisMachine();
  if (arguments.reads.size() > 2) {
    RefuseOption("--reads", fmt::format("{} files", arguments.reads.size()),
                 "one, or two with mates");
  }
  const bool launched = RanksOfLauncher().has_value();
  if (!launched) CheckAlignSortFiles(arguments);
  ReturnLargeBlocks();
  const JoinedRank own = JoinRanks(arguments.threads, arguments.ranks, topology);
  const int threads = own.cores.Count();
  if (own.ServesAnother()) {
    return ServeRank(
        own.link.get(), [&] { return MakeAlignSort(SettingsOf(arguments, threads)); }, own.cores,
        topology);
  }
  // Reads and output are needed where rank 0 is only.
  if (launched) CheckAlignSortFiles(arguments);
  const SignalScope signals(own.link ? SignalScope::Second::kNoted : SignalScope::Second::kEnds);
  const AlignSortSettings settings =
      SettingsOf(arguments, threads * (own.link ? own.link->Size() : 1));
  const PipelineProgram program = MakeAlignSort(settings);
  // Other ranks wait for its end, which only a run tells them.
  if (Interrupted() && !own.link) return kInterrupted;
  PipelineRun run(program, own.cores, topology, own.link.get());
  run.Run(arguments.requests, [&] {
    const int64_t reads = settings.progress->reads_aligned;
    return fmt::format("{} reads aligned, {:.0f} reads/s", reads,
                       static_cast<double>(reads) / run.SecondsSoFar());
  });
  return ReportAlignSort(run, *settings.progress);
}

void AddAlignSortCommand(CLI::App* run, int* exit_code) {
  CLI::App* command =
      run->add_subcommand(kAlignSortName,
                          "Align reads to a reference and sort them into a BAM file, "
                          "as minimap2 -ax sr | samtools sort");
  const auto arguments = std::make_shared<AlignSortArguments>();
  command->add_option("--reference", arguments->reference, "FASTA, packed or not")->required();
  command->add_option("--reads", arguments->reads, "FASTQ, packed or not: one, or two with mates")
      ->required();
  command
      ->add_option("--out", arguments->out,
                   "BAM file; with --requests a folder, where request N writes N.bam")
      ->required();
  AddThreadsAndRanks(command, &arguments->threads, &arguments->ranks);
  AddNumber(command, "--requests", &arguments->requests, 1, kMostRequestsOfARun,
            "Do it so many times, to see what a stream of requests is like");
  AddOpenOptions(command, &arguments->open, &arguments->link);
  AddNumber(command, "--chunk", &arguments->chunk, 1, kMostChunkReads,
            "Reads that are aligned in a call");
  AddNumber(command, "--level", &arguments->level, 0, kMostCompression, "Of compression, zlib's");
  AddNumber(command, "--memory", &arguments->memory_mib, 0, kMostMemoryMib,
            "MiB of sorted records in memory; the rest is spilled to nameless files …");
  command->add_option("--spill-folder", arguments->spill_folder,
                      "… in this folder; default: where the BAM file is");
  command->callback([arguments, exit_code] { *exit_code = RunAlignSort(*arguments); });
}

}  // namespace

void AddPipelineCommand(CLI::App& app, int* exit_code) {
  CLI::App* pipeline =
      app.add_subcommand("pipeline", "Run an application that is a pipeline of stages");
  pipeline->require_subcommand(1);
  CLI::App* run = pipeline->add_subcommand("run", "Run it, and tell where its time went");
  run->require_subcommand(1);
  AddAlignSortCommand(run, exit_code);
  AddClassifyCommand(run, exit_code);
  AddIncrementCommand(run, exit_code);
}

}  // namespace cosched
