// align-sort by cosched's Pipeline beside the same stages, object by object, in oneTBB's
// parallel_pipeline and in its flow graph (a limiter_node for tokens, a sequencer_node for order),
// and beside the programs `minimap2 -t2 -ax sr | samtools sort -@0` and -@2 on the same files. From
// the FASTQ files to the BAM file, index and all, on two threads; where there are several requests,
// two are open at once, but the programs do one after the other.
//
// Each iteration runs all of them, in an order that turns, so that the machine's moods meet all. The
// counters are medians over iterations: <name>, thousand reads a second; x_<name>, cosched's over
// that, in one iteration; cpu_<name>, processor time a read in us, of all processes; rss_<name>, the peak of resident memory in MiB: of this process with all
// that it has anyway, and of the largest of the programs. An error if the files are not alike.

#include <benchmark/benchmark.h>
#include <malloc.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/topology.h"
#include "engine/gates/pipeline.h"
#include "tests/workloads/genomics/generated_reads.h"
#include "tests/workloads/temporary_folder.h"
#include "workloads/pipelines/align_sort.h"

namespace cosched {
namespace {

namespace flow = oneapi::tbb::flow;

constexpr const char* kColi = "/usr/share/doc/bowtie/examples/genomes/NC_008253.fna.gz";
constexpr size_t kColiBases = 4'938'920;
constexpr int kThreads = 2;
constexpr int kOpen = 2;
constexpr size_t kTokens = 2 * kThreads;

enum Stages { kSplit, kAlign, kSort, kCollect, kMerge, kCompress, kWrite, kPublish };

// A call of a stage on the thread of a peer.
class PeerCall : public StageCall {
 public:
  explicit PeerCall(Payload payload) { batch_.items.push_back({Ordinal(0), std::move(payload)}); }
  ItemBatch& Batch() override { return batch_; }
  void Emit(Payload payload) override { emitted.push_back(std::move(payload)); }
  bool Full() const override { return !emitted.empty(); }
  bool Cancelled() const override { return false; }
  ThreadPools* Pools() override { return nullptr; }
  void AddBusy(std::chrono::nanoseconds) override {}

  std::vector<Payload> emitted;

 private:
  ItemBatch batch_;
};

// What a stage emits, item by item.
class PeerSource {
 public:
  PeerSource(const StageFactory& stage, Payload payload)
      : call_(std::move(payload)), stage_(stage()) {}
  std::optional<Payload> Next() {
    while (call_.emitted.empty() && more_) more_ = stage_->Run(call_);
    if (call_.emitted.empty()) return std::nullopt;
    Payload payload = std::move(call_.emitted.front());
    call_.emitted.clear();
    return payload;
  }

 private:
  PeerCall call_;
  std::unique_ptr<Stage> stage_;
  bool more_ = true;
};

// Empty where the stage emits nothing.
Payload Apply(const PipelineProgram& program, Stages stage, Payload payload) {
  return PeerSource(program.stages[stage], std::move(payload)).Next().value_or(Payload());
}

// The last one gives the file its name, too.
void WriteGroup(const PipelineProgram& program, Payload group) {
  const std::optional<Payload> last = PeerSource(program.stages[kWrite], std::move(group)).Next();
  if (last) Apply(program, kPublish, *last);
}

void RunByTbbPipeline(const PipelineProgram& program, int64_t request) {
  using oneapi::tbb::filter_mode;
  using oneapi::tbb::flow_control;
  using oneapi::tbb::make_filter;
  const auto from = [](PeerSource* source) {
    return make_filter<void, Payload>(filter_mode::serial_in_order,
                                      [source](flow_control& control) {
                                        std::optional<Payload> next = source->Next();
                                        if (!next) control.stop();
                                        return next.value_or(Payload());
                                      });
  };
  const auto through = [&](Stages stage, filter_mode mode) {
    return make_filter<Payload, Payload>(mode, [&program, stage](Payload payload) {
      return Apply(program, stage, std::move(payload));
    });
  };
  PeerSource chunks(program.stages[kSplit], program.items(request, 1).front());
  Payload collected;
  oneapi::tbb::parallel_pipeline(
      kTokens, from(&chunks) & through(kAlign, filter_mode::parallel) &
                   through(kSort, filter_mode::parallel) &
                   make_filter<Payload, void>(filter_mode::serial_out_of_order, [&](Payload run) {
                     collected = Apply(program, kCollect, std::move(run));
                   }));
  PeerSource groups(program.stages[kMerge], collected);
  oneapi::tbb::parallel_pipeline(
      kTokens, from(&groups) & through(kCompress, filter_mode::parallel) &
                   make_filter<Payload, void>(filter_mode::serial_in_order, [&](Payload group) {
                     WriteGroup(program, std::move(group));
                   }));
}

struct NumberedPayload {
  size_t number = 0;
  Payload payload = {};
};

void RunByTbbFlowGraph(const PipelineProgram& program, int64_t request) {
  const auto from = [](PeerSource* source) {
    return [source, number = size_t{0}](oneapi::tbb::flow_control& control) mutable {
      std::optional<Payload> next = source->Next();
      if (!next) control.stop();
      return NumberedPayload{number++, next.value_or(Payload())};
    };
  };
  const auto through = [&](Stages stage) {
    return [&program, stage](NumberedPayload item) {
      return NumberedPayload{item.number, Apply(program, stage, std::move(item.payload))};
    };
  };
  using Node = flow::function_node<NumberedPayload, NumberedPayload>;
  using Last = flow::function_node<NumberedPayload, flow::continue_msg>;
  Payload collected;
  {
    PeerSource chunks(program.stages[kSplit], program.items(request, 1).front());
    flow::graph graph;
    flow::input_node<NumberedPayload> split(graph, from(&chunks));
    flow::limiter_node<NumberedPayload> limiter(graph, kTokens);
    Node align(graph, flow::unlimited, through(kAlign)),
        sort(graph, flow::unlimited, through(kSort));
    Last collect(graph, flow::serial, [&](NumberedPayload item) {
      collected = Apply(program, kCollect, std::move(item.payload));
      return flow::continue_msg();
    });
    flow::make_edge(split, limiter);
    flow::make_edge(limiter, align);
    flow::make_edge(align, sort);
    flow::make_edge(sort, collect);
    flow::make_edge(collect, limiter.decrementer());
    split.activate();
    graph.wait_for_all();
  }
  PeerSource groups(program.stages[kMerge], collected);
  flow::graph graph;
  flow::input_node<NumberedPayload> merge(graph, from(&groups));
  flow::limiter_node<NumberedPayload> limiter(graph, kTokens);
  Node compress(graph, flow::unlimited, through(kCompress));
  flow::sequencer_node<NumberedPayload> order(
      graph, [](const NumberedPayload& item) { return item.number; });
  Last write(graph, flow::serial, [&](NumberedPayload item) {
    WriteGroup(program, std::move(item.payload));
    return flow::continue_msg();
  });
  flow::make_edge(merge, limiter);
  flow::make_edge(limiter, compress);
  flow::make_edge(compress, order);
  flow::make_edge(order, write);
  flow::make_edge(write, limiter.decrementer());
  merge.activate();
  graph.wait_for_all();
}

// Requests with oneTBB, so many at once, each by its own pipelines inside of this one.
void RunRequestsByTbb(const PipelineProgram& program, int64_t requests,
                      void (*run)(const PipelineProgram&, int64_t)) {
  using oneapi::tbb::filter_mode;
  using oneapi::tbb::make_filter;
  const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism,
                                            kThreads);
  int64_t next = 0;
  oneapi::tbb::parallel_pipeline(
      kOpen, make_filter<void, int64_t>(filter_mode::serial_in_order,
                                        [&](oneapi::tbb::flow_control& control) {
                                          if (next == requests) control.stop();
                                          return next++;
                                        }) &
                 make_filter<int64_t, void>(filter_mode::parallel,
                                            [&](int64_t request) { run(program, request); }));
}

void RunByCosched(const PipelineProgram& program, int64_t requests) {
  std::atomic<int64_t> done = 0;
  const Topology topology = Topology::ThisMachine();
  const int threads = std::min(kThreads, topology.Cpus().Count());
  Pipeline pipeline(program.spec, program.stages,
                    {.capacity = {threads, threads},
                     .binding = ThreadPools::Binding::kEachToItsCore,
                     .topology = &topology},
                    [&](const PipelineResult& result) {
                      done += result.answer.status == PipelineAnswer::Status::kDone ? 1 : 0;
                    });
  pipeline.Pools().Resize(topology.Cpus().Lowest(threads), {threads, threads});
  pipeline.Begin();
  for (int64_t i = 0; i < requests; ++i) pipeline.Submit({i, program.items(i, 1)});
  pipeline.Drain();
  pipeline.WaitUntilOver();
  CHECK(done == requests) << done << " of " << requests << " requests were done";
}

ReferenceGenome PeersGenome() {
  if (std::filesystem::exists(kColi)) return ReadFasta(OpenFile(kColi), kColi);
  Random random(1);
  ReferenceGenome genome;
  genome.sequences = {{"random", kColiBases}};
  genome.bases = {RandomBases(kColiBases, &random)};
  return genome;
}

struct PeerFiles {
  PeerFiles(const ReferenceGenome& genome, int64_t reads) {
    Random random(2);
    ReadGenerator generator(&genome, &random);
    std::string first, second;
    for (int64_t i = 0; i < reads / 2; ++i) {
      const auto [left, right] = generator.ProperMates(300 + random.Below(100), 101);
      first += generator.Record("read" + std::to_string(i) + "/1", left);
      second += generator.Record("read" + std::to_string(i) + "/2", right);
    }
    folder.Write("genome.fa", Fasta(genome));
    folder.WriteGzip("1.fq.gz", first);
    folder.WriteGzip("2.fq.gz", second);
  }

  PipelineProgram Program() const {
    return MakeAlignSort({.reference = folder.PathOf("genome.fa"),
                          .reads = {{folder.PathOf("1.fq.gz"), folder.PathOf("2.fq.gz")}},
                          .out = folder.Path(),
                          .open = {CreditLink::kLinear, kOpen, kOpen},
                          .threads = kThreads});
  }
  void RunPrograms(int64_t requests, const std::string& sorters) const {
    const std::string command =
        "cd " + folder.Path() +
        " && minimap2 -t2 -ax sr genome.fa 1.fq.gz 2.fq.gz 2>/dev/null | samtools sort -@" +
        sorters + " -o theirs.bam - 2>/dev/null";
    for (int64_t i = 0; i < requests; ++i) {
      CHECK(std::system(command.c_str()) == 0) << command;
    }
  }

  TemporaryFolder folder;
};

const PeerFiles& FilesOf(int64_t reads) {
  static const ReferenceGenome genome = PeersGenome();
  static std::map<int64_t, PeerFiles> made;
  return made.try_emplace(reads, genome, reads).first->second;
}

double PeakMebibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

double ProcessorSeconds() {
  double seconds = 0;
  for (const int whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage;
    getrusage(whose, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
  }
  return seconds;
}

struct PeerForm {
  std::string name;
  bool inside;  // This process.
  std::function<void()> run;
  std::vector<double> seconds = {};
  std::vector<double> processor_seconds = {};
  double peak_mebibytes = 0;

  void Run() {
    malloc_trim(0);
    if (inside) std::ofstream("/proc/self/clear_refs") << "5";  // The peak begins anew.
    const double processor = ProcessorSeconds();
    const auto start = std::chrono::steady_clock::now();
    run();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    processor_seconds.push_back(ProcessorSeconds() - processor);
    rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    peak_mebibytes = std::max(
        peak_mebibytes, inside ? PeakMebibytes() : static_cast<double>(children.ru_maxrss) / 1024);
  }
};

double MedianOf(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

// All forms with the bytes of what they made; "" for programs.
std::vector<PeerForm> FormsOf(const PeerFiles& files, int64_t requests,
                              std::set<std::string>* contents) {
  const auto ours = [&files, contents](const std::function<void(const PipelineProgram&)>& run) {
    return [&files, contents, run] {
      std::filesystem::remove(files.folder.PathOf("0.bam"));
      run(files.Program());
      contents->insert(files.folder.Contents("0.bam"));
    };
  };
  std::vector<PeerForm> forms = {
      {"cosched", true, ours([=](const auto& program) { RunByCosched(program, requests); })},
      {"tbb_pipeline", true,
       ours([=](const auto& program) { RunRequestsByTbb(program, requests, RunByTbbPipeline); })},
      {"tbb_flow_graph", true,
       ours([=](const auto& program) { RunRequestsByTbb(program, requests, RunByTbbFlowGraph); })}};
  if (std::system("command -v minimap2 samtools >/dev/null 2>&1") == 0) {
    for (const std::string sorters : {"0", "2"}) {
      forms.push_back({"programs_" + sorters, false,
                       [&files, requests, sorters] { files.RunPrograms(requests, sorters); }});
    }
  }
  return forms;
}

// Arguments: reads of a request, requests.
void BM_Peers(benchmark::State& state) {
  const PeerFiles& files = FilesOf(state.range(0));
  std::set<std::string> contents;
  std::vector<PeerForm> forms = FormsOf(files, state.range(1), &contents);
  size_t first = 0;
  for (auto unused : state) {
    for (size_t i = 0; i < forms.size(); ++i) forms[(first + i) % forms.size()].Run();
    ++first;
  }
  const double reads = static_cast<double>(state.range(0) * state.range(1));
  for (const PeerForm& form : forms) {
    state.counters[form.name] = reads / 1'000 / MedianOf(form.seconds);
    state.counters["cpu_" + form.name] = 1e6 * MedianOf(form.processor_seconds) / reads;
    state.counters["rss_" + form.name] = form.peak_mebibytes;
    std::vector<double> ratios;
    for (size_t i = 0; i < form.seconds.size(); ++i)
      ratios.push_back(form.seconds[i] / forms[0].seconds[i]);
    if (&form != forms.data()) state.counters["x_" + form.name] = MedianOf(ratios);
  }
  if (contents.size() != 1) state.SkipWithError("the files are not alike");
}
BENCHMARK(BM_Peers)
    ->ArgNames({"reads", "requests"})
    ->Args({1'000, 3})
    ->Args({400'000, 1})
    ->Args({100'000, 8})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
