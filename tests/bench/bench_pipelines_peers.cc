// A Pipeline beside oneTBB's parallel_pipeline and its flow graph, and beside programs.
//
//   align_sort/READS/REQUESTS   the same stages, object by object, in all three; beside them
//     `cosched pipeline run align-sort` ("command"), and the programs `minimap2 -t2 -ax sr |
//     samtools sort` with -@0 and -@2. From the FASTQ files to the BAM file, index and all, on two
//     threads; of several requests two are open at once, but the programs do one after the other,
//     with an index that they load where all others build theirs once. An error if the first
//     file of the first three is not the same.
//   items/STAGES   what a pipeline itself costs: stages that add one to each of 2,000 items of 10
//     requests.
//
// Each repetition runs all of them, in an order that turns, so that the machine's moods meet all.
// The counters: <name>, thousand reads or items a second; x_<name>, cosched's over that; cpu_<name>,
// processor time a read or item in us, of all processes; rss_<name>, the peak of resident memory in
// MiB: of this process with all that it has anyway, and of the largest of the programs.
//
// `cosched reproduce fig_pipeline_peers` repeats and draws it.

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/topology.h"
#include "engine/gates/pipeline.h"
#include "tests/bench/coli_reads.h"
#include "tests/bench/processor_time.h"
#include "tests/bench/tbb_pipelines.h"
#include "tests/paths.h"
#include "tests/workloads/temporary_folder.h"
#include "workloads/pipelines/align_sort.h"
#include "workloads/pipelines/increment.h"

namespace cosched {
namespace {

constexpr int kThreads = 2;
constexpr int kOpen = 2;
constexpr size_t kTokens = 2 * kThreads;

void RunByCosched(const PipelineProgram& program, int64_t requests,
                  const std::function<void(const PipelineAnswer&)>& done = {}) {
  std::mutex mutex;
  int64_t failed = 0;
  const Topology topology = Topology::ThisMachine();
  const int threads = std::min(kThreads, topology.Cpus().Count());
  Pipeline pipeline(program.spec, program.stages,
                    {.capacity = {threads, threads},
                     .binding = ThreadPools::Binding::kEachToItsCore,
                     .topology = &topology},
                    [&](const PipelineResult& result) {
                      const std::lock_guard lock(mutex);
                      if (result.answer.status != PipelineAnswer::Status::kDone) ++failed;
                      if (done) done(result.answer);
                    });
  pipeline.Pools().Resize(topology.Cpus().Lowest(threads), {threads, threads});
  pipeline.Begin();
  for (int64_t i = 0; i < requests; ++i) pipeline.Submit({i, program.items(i, 1)});
  pipeline.Drain();
  pipeline.WaitUntilOver();
  CHECK(failed == 0) << failed << " of " << requests << " requests failed";
}

void RunByTbb(const PipelineProgram& program, int64_t requests,
              void (*run)(const PipelineProgram&, int64_t, size_t)) {
  RequestsByTbb(kThreads, kOpen, requests,
                [&](int64_t request) { run(program, request, kTokens); });
}

struct Cost {
  double seconds = 0, processor_seconds = 0, peak_mebibytes = 0;
};

double PeakMebibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

Cost CostHere(const std::function<void()>& run) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // The peak begins anew.
  const double processor = ProcessorSeconds();
  const auto start = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return {seconds.count(), ProcessorSeconds() - processor, PeakMebibytes()};
}

// By a small process: the memory of whoever starts a program counts for that program's peak.
Cost CostOfPrograms(const std::string& command) {
  const std::string measure =
      "import resource, subprocess, sys, time\n"
      "start = time.monotonic()\n"
      "subprocess.run([\"bash\", \"-o\", \"pipefail\", \"-c\", sys.argv[1]], check=True)\n"
      "seconds, used = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)\n"
      "print(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)\n";
  FILE* output = popen(("/usr/bin/python3 -c '" + measure + "' '" + command + "'").c_str(), "r");
  CHECK(output != nullptr);
  Cost cost;
  const int read =
      fscanf(output, "%lf %lf %lf", &cost.seconds, &cost.processor_seconds, &cost.peak_mebibytes);
  CHECK(pclose(output) == 0 && read == 3) << command;
  return cost;
}

struct PeerFiles {
  PeerFiles(const ReferenceGenome& genome, int64_t reads) { WriteColiReads(genome, reads, folder); }

  PipelineProgram Program() const {
    return MakeAlignSort({.reference = folder.PathOf("genome.fa"),
                          .reads = {{folder.PathOf("1.fq.gz"), folder.PathOf("2.fq.gz")}},
                          .out = folder.Path(),
                          .open = {CreditLink::kLinear, kOpen, kOpen},
                          .threads = kThreads});
  }
  Cost RunCommand(int64_t requests) const {
    std::string command = std::string("set -e; cd ") + folder.Path() +
                          "; rm -rf ours; mkdir ours; " + CoschedBinary() +
                          " pipeline run align-sort --reference genome.fa" +
                          " --reads 1.fq.gz 2.fq.gz --threads " + std::to_string(kThreads) +
                          " --open " + std::to_string(kOpen) + " --out ours";
    command += requests > 1 ? " --requests " + std::to_string(requests) : "/0.bam";
    return CostOfPrograms(command + " >/dev/null 2>&1");
  }
  Cost RunPrograms(int64_t requests, const std::string& sorters) const {
    std::string command = "set -e; cd " + folder.Path();
    if (requests > 1) command += "; minimap2 -x sr -d genome.mmi genome.fa 2>/dev/null";
    const std::string genome = requests > 1 ? "genome.mmi" : "genome.fa";
    for (int64_t i = 0; i < requests; ++i) {
      command += "; minimap2 -t2 -ax sr " + genome +
                 " 1.fq.gz 2.fq.gz 2>/dev/null | samtools sort -@" + sorters +
                 " -o theirs.bam - 2>/dev/null";
    }
    return CostOfPrograms(command);
  }

  TemporaryFolder folder;
};

const PeerFiles& FilesOf(int64_t reads) {
  static const ReferenceGenome genome = ColiGenome();
  static std::map<int64_t, PeerFiles> made;
  return made.try_emplace(reads, genome, reads).first->second;
}

struct PeerForm {
  std::string name;
  std::function<Cost()> run;
  Cost cost = {};
};

// Runs each form once, beginning with another one each time.
void RunInTurn(std::vector<PeerForm>* forms, size_t* first) {
  for (size_t i = 0; i < forms->size(); ++i) {
    PeerForm& form = (*forms)[(*first + i) % forms->size()];
    form.cost = form.run();
  }
  ++*first;
}

void Tell(benchmark::State& state, const std::vector<PeerForm>& forms, int64_t items) {
  for (const PeerForm& form : forms) {
    const auto count = static_cast<double>(items);
    state.counters[form.name] = count / 1'000 / form.cost.seconds;
    state.counters["cpu_" + form.name] = 1e6 * form.cost.processor_seconds / count;
    state.counters["rss_" + form.name] = form.cost.peak_mebibytes;
    if (&form == forms.data()) continue;
    state.counters["x_" + form.name] = form.cost.seconds / forms[0].cost.seconds;
  }
}

// All forms with the bytes of what they made; "" for programs.
std::vector<PeerForm> AlignSortForms(const PeerFiles& files, int64_t requests,
                                     std::set<std::string>* contents) {
  const auto ours = [&files, contents](const std::function<void(const PipelineProgram&)>& run) {
    return [&files, contents, run] {
      std::filesystem::remove(files.folder.PathOf("0.bam"));
      const Cost cost = CostHere([&] { run(files.Program()); });
      contents->insert(files.folder.Contents("0.bam"));
      return cost;
    };
  };
  std::vector<PeerForm> forms = {
      {"cosched", ours([=](const auto& program) { RunByCosched(program, requests); })},
      {"command", [&files, requests] { return files.RunCommand(requests); }},
      {"tbb_pipeline",
       ours([=](const auto& program) { RunByTbb(program, requests, AlignSortByTbbPipeline); })},
      {"tbb_flow_graph",
       ours([=](const auto& program) { RunByTbb(program, requests, AlignSortByTbbFlowGraph); })}};
  if (std::system("command -v minimap2 samtools >/dev/null 2>&1") == 0) {
    for (const std::string sorters : {"0", "2"}) {
      forms.push_back({"programs_" + sorters, [&files, requests, sorters] {
                         return files.RunPrograms(requests, sorters);
                       }});
    }
  }
  return forms;
}

void BM_AlignSort(benchmark::State& state) {
  static size_t first = 0;
  const PeerFiles& files = FilesOf(state.range(0));
  std::set<std::string> contents;
  std::vector<PeerForm> forms = AlignSortForms(files, state.range(1), &contents);
  for (auto unused : state) RunInTurn(&forms, &first);
  Tell(state, forms, state.range(0) * state.range(1));
  if (contents.size() != 1) state.SkipWithError("the files are not alike");
}
BENCHMARK(BM_AlignSort)
    ->Name("align_sort")
    ->Args({1'000, 3})
    ->Args({200'000, 1})
    ->Args({10'000, 20})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void BM_Items(benchmark::State& state) {
  static size_t first = 0;
  constexpr int64_t kRequests = 10, kItems = 2'000;
  const auto stages = static_cast<int>(state.range(0));
  const PipelineProgram program = MakeIncrement(
      {.open = {CreditLink::kLinear, kOpen, kOpen}, .stages = stages, .items = kItems});
  std::set<int64_t> sums;
  const auto by_tbb = [&](int64_t (*run)(int, std::vector<Payload>, size_t)) {
    std::atomic<int64_t> sum = 0;
    RequestsByTbb(kThreads, kOpen, kRequests,
                  [&](int64_t request) { sum += run(stages, program.items(request, 1), kTokens); });
    sums.insert(sum);
  };
  const auto by_cosched = [&] {
    int64_t sum = 0;
    RunByCosched(program, kRequests, [&](const PipelineAnswer& answer) {
      for (const Payload& item : answer.payloads) sum += item.As<int64_t>();
    });
    sums.insert(sum);
  };
  std::vector<PeerForm> forms = {
      {"cosched", [&] { return CostHere(by_cosched); }},
      {"tbb_pipeline", [&] { return CostHere([&] { by_tbb(AddByTbbPipeline); }); }},
      {"tbb_flow_graph", [&] { return CostHere([&] { by_tbb(AddByTbbFlowGraph); }); }}};
  for (auto unused : state) RunInTurn(&forms, &first);
  Tell(state, forms, kRequests * kItems);
  if (sums.size() != 1) state.SkipWithError("the sums differ");
}
BENCHMARK(BM_Items)->Name("items")->Arg(1)->Arg(4)->Iterations(1)->UseRealTime()->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
