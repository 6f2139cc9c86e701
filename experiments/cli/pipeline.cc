#include "experiments/cli/pipeline.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/topology.h"
#include "engine/gates/pipeline.h"
#include "engine/gates/remote_lanes.h"
#include "experiments/cli/pipeline_ranks.h"
#include "experiments/cli/program_options.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/option_refusal.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/interrupt.h"
#include "workloads/pipelines/align_sort.h"

namespace cosched {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kMostOpen = 1024;
constexpr int kMostRanks = 1024;
constexpr int64_t kMostRequestsOfARun = 1'000'000;
constexpr auto kBetweenLooks = std::chrono::milliseconds(100);

double SecondsOf(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// One line that is drawn over, on a terminal only.
class StatusLine {
 public:
  void Show(const std::string& text) const {
    if (!terminal_) return;
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
};

// A program's requests, all submitted at once, until the last has its answer.
class PipelineRun {
 public:
  // `link`: to the ranks that make calls, too; null: there are none.
  PipelineRun(const PipelineProgram& program, const CpuSet& cores, const Topology& topology,
              RankLink* link)
      : pipeline_(program.spec, program.stages,
                  {.capacity = {cores.Count(), cores.Count()},
                   .binding = ThreadPools::Binding::kEachToItsCore,
                   .topology = &topology},
                  [this](PipelineResult result) { Note(std::move(result)); }) {
    // Every core may begin a call of its own; one that has none helps in the others'.
    pipeline_.Pools().Resize(cores, {cores.Count(), cores.Count()});
    if (link != nullptr) remote_.emplace(&pipeline_, link, program.travels);
  }

  // `status`: what the line of progress says. Cancels what is left when Interrupted().
  void Run(const PipelineProgram& program, int64_t requests,
           const std::function<std::string()>& status) {
    begin_ = SteadyClock::now();
    pipeline_.Begin();
    for (int64_t i = 0; i < requests; ++i) pipeline_.Submit({i, program.items(i, /*work=*/1)});
    pipeline_.Drain();
    const StatusLine line;
    while (!WaitForAll(requests) && !pipeline_.Broken()) {
      line.Show(status());
      if (!Interrupted()) continue;
      for (int64_t i = 0; i < requests; ++i) pipeline_.Cancel(i, "interrupted");
    }
    pipeline_.WaitUntilOver();
    line.Show("");
    seconds_ = SecondsOf(SteadyClock::now() - begin_);
    std::ranges::sort(results_, {}, &PipelineResult::number);
  }

  const std::vector<PipelineResult>& Results() const { return results_; }  // By number.
  double Seconds() const { return seconds_; }
  double SecondsSoFar() const { return SecondsOf(SteadyClock::now() - begin_); }

  // Busy seconds are those in pieces, whatever became of the calls; a share is one of all of them.
  std::string StageTable() const {
    const PipelineSample sample = pipeline_.Sample();
    double all = 0;
    for (const PipelineSample::Stage& stage : sample.stages) all += SecondsOf(stage.busy);
    std::string text =
        fmt::format("{:<10} {:>9} {:>9} {:>9} {:>7}\n", "stage", "calls", "items", "busy", "share");
    for (const PipelineSample::Stage& stage : sample.stages) {
      const double busy = SecondsOf(stage.busy);
      text += fmt::format("{:<10} {:>9} {:>9} {:>7.3f} s {:>5.1f} %\n", stage.name, stage.calls,
                          stage.taken, busy, all > 0 ? busy / all * 100 : 0);
    }
    return text;
  }

 private:
  // On a thread of the pipeline.
  void Note(PipelineResult result) {
    const std::lock_guard lock(mutex_);
    results_.push_back(std::move(result));
    answered_.notify_one();
  }

  // For as long as the status may stay as it is.
  bool WaitForAll(int64_t requests) {
    std::unique_lock lock(mutex_);
    return answered_.wait_for(lock, kBetweenLooks,
                              [&] { return static_cast<int64_t>(results_.size()) == requests; });
  }

  SteadyClock::time_point begin_;
  double seconds_ = 0;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<PipelineResult> results_;
  Pipeline pipeline_;  // After what its answers use.
  std::optional<RemoteLanes> remote_;
};

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

// The exit code: bad input only if nothing else was wrong.
int ReportAlignSort(const PipelineRun& run, const AlignSortProgress& progress) {
  int64_t failed = 0;
  bool cancelled = false;
  for (const PipelineResult& result : run.Results()) {
    switch (result.answer.status) {
      case PipelineAnswer::Status::kDone: {
        const auto& done = result.answer.payloads.front().As<AlignSortResult>();
        fmt::print("{}: {} reads, {} records, {} bytes\n", done.out, done.reads, done.records,
                   done.bytes);
        break;
      }
      case PipelineAnswer::Status::kFailed:
        ++failed;
        fmt::print(stderr, "cosched: request {}, {}: {}\n", result.number, result.stage,
                   result.answer.why);
        break;
      case PipelineAnswer::Status::kCancelled: cancelled = true; break;
    }
  }
  if (failed < std::ssize(run.Results())) {
    const auto reads = static_cast<double>(progress.reads_aligned);
    fmt::print("{:.0f} reads in {:.2f} s, {:.0f} reads/s; {} bytes spilled\n{}", reads,
               run.Seconds(), reads / run.Seconds(), progress.spilled_bytes.load(),
               run.StageTable());
  }
  if (failed > 0) return failed == progress.refused ? kBadInput : kFailed;
  return cancelled ? kInterrupted : 0;
}

int RunAlignSort(const AlignSortArguments& arguments) {
  const Topology topology = Topology::ThisMachine();
  const int most = topology.Cpus().Count();
  if (arguments.threads) CheckNumber("--threads", *arguments.threads, 1, most);
  if (arguments.reads.size() > 2) {
    RefuseOption("--reads", fmt::format("{} files", arguments.reads.size()),
                 "one, or two with mates");
  }
  CheckAlignSortFiles(arguments);
  const std::unique_ptr<MpiLink> link = JoinRanks(arguments.ranks);
  const LocalRanks local = link ? link->Local() : LocalRanks{};
  const int threads = arguments.threads.value_or(ThreadsOfRank(most, local));
  const CpuSet cores = CoresOfRank(topology.Cpus(), local, threads);
  if (link && link->Rank() > 0)
    return ServeRank(link.get(), MakeAlignSort(SettingsOf(arguments, threads)), cores, topology);
  const SignalScope signals(link ? SignalScope::Second::kNoted : SignalScope::Second::kEnds);
  const AlignSortSettings settings = SettingsOf(arguments, threads * (link ? link->Size() : 1));
  const PipelineProgram program = MakeAlignSort(settings);
  if (Interrupted()) return kInterrupted;
  PipelineRun run(program, cores, topology, link.get());
  run.Run(program, arguments.requests, [&] {
    const int64_t reads = settings.progress->reads_aligned;
    return fmt::format("{} reads aligned, {:.0f} reads/s", reads,
                       static_cast<double>(reads) / run.SecondsSoFar());
  });
  return ReportAlignSort(run, *settings.progress);
}

void AddAlignSortCommand(CLI::App* run, int* exit_code) {
  CLI::App* command =
      run->add_subcommand("align-sort",
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
  AddNumber(
      command, "--threads", &arguments->threads, 1, kMostThreads,
      "Calls that compute side by side, of each rank; default: one a core, which is the most");
  AddNumber(
      command, "--ranks", &arguments->ranks, 1, kMostRanks,
      "Processes that share the work, started with mpirun; or start them yourself: mpirun -n N "
      "cosched pipeline run …");
  AddNumber(command, "--requests", &arguments->requests, 1, kMostRequestsOfARun,
            "Do it so many times, to see what a stream of requests is like");
  AddNumber(command, "--open", &arguments->open, 1, kMostOpen, "Requests that are open at once");
  AddChoice(command, "--link", &arguments->link,
            {{"linear", CreditLink::kLinear}, {"end-to-end", CreditLink::kEndToEnd}},
            "What --open bounds: the requests before each stage, or all that are inside");
  AddNumber(command, "--chunk", &arguments->chunk, 1, 100'000, "Reads that are aligned in a call");
  AddNumber(command, "--level", &arguments->level, 0, 9, "Of compression, zlib's");
  AddNumber(command, "--memory", &arguments->memory_mib, 0, 1 << 24,
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
}

}  // namespace cosched
