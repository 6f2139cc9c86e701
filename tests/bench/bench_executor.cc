// What a node costs beyond its kernel: nanoseconds a node of graphs whose nodes do nothing, beside
// oneTBB's flow graph (continue_node) in the same run. Samples alternate between all of them, so
// that a noisy machine disturbs them alike; each column is the median.
//
//   session_ns  NoOp nodes through Session::Run: the whole path; such nodes are known to be cheap
//   costly_ns   the executor with tasks that are said to be worth a thread each, but do nothing:
//               the worst that a wrong estimate can do, as all workers queue for them
//   onetbb_ns   the same graph of continue_nodes, in an arena of as many threads
//
//   bench_executor [--benchmark_filter=wide]

#include <benchmark/benchmark.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/session/executor.h"
#include "engine/session/session.h"
#include "tests/bench/quantile.h"

namespace cosched {
namespace {

using std::chrono::steady_clock;

// Which nodes come before which; node 0 is the only one without any before it.
struct EmptyNodes {
  int count = 0;
  std::vector<std::pair<int, int>> edges;
};

EmptyNodes Chain(int length) {
  EmptyNodes nodes{length, {}};
  for (int i = 1; i < length; ++i) nodes.edges.emplace_back(i - 1, i);
  return nodes;
}

EmptyNodes Wide(int width) {
  EmptyNodes nodes{width + 2, {}};
  for (int i = 1; i <= width; ++i) {
    nodes.edges.emplace_back(0, i);
    nodes.edges.emplace_back(i, width + 1);
  }
  return nodes;
}

class SessionOfNodes {
 public:
  SessionOfNodes(const EmptyNodes& nodes, int threads) {
    std::vector<std::vector<NodeId>> before(static_cast<size_t>(nodes.count));
    for (const auto& [from, to] : nodes.edges) before[static_cast<size_t>(to)].push_back(from);
    for (const auto& control : before) graph_.Add("NoOp", "", {}, {}, control);
    graph_.Build();
    fetches_ = {graph_.Nodes().back().name};
    session_ =
        std::make_unique<Session>(graph_, SessionOptions{.inter_op_parallelism_threads = threads});
  }
  void Run() { session_->Run({}, fetches_); }

 private:
  Graph graph_;
  std::vector<std::string> fetches_;
  std::unique_ptr<Session> session_;
};

class CostlyTasks {
 public:
  CostlyTasks(const EmptyNodes& nodes, int threads) {
    for (int i = 0; i < nodes.count; ++i) tasks_.Add(/*cheap=*/false, 1);
    for (const auto& [from, to] : nodes.edges) tasks_.AddEdge(from, to);
    tasks_.Seal();
    queue_ = std::make_unique<ReadyQueue>(&tasks_);
    pool_ = std::make_unique<MalleablePool>(
        MalleablePool::Options{.name = "inter", .capacity = threads});
    executor_ = std::make_unique<Executor>(pool_.get());
    pool_->Resize(threads);
  }
  ~CostlyTasks() { pool_.reset(); }  // Before the executor.
  void Run() {
    executor_->Run(queue_.get(), [](TaskAtPiece) { return false; });
  }

 private:
  TaskGraph tasks_;
  std::unique_ptr<ReadyQueue> queue_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<MalleablePool> pool_;
};

class FlowGraph {
 public:
  using FlowNode = tbb::flow::continue_node<tbb::flow::continue_msg>;

  FlowGraph(const EmptyNodes& nodes, int threads) : arena_(threads) {
    arena_.execute([&] {
      graph_ = std::make_unique<tbb::flow::graph>();
      for (int i = 0; i < nodes.count; ++i) {
        nodes_.push_back(std::make_unique<FlowNode>(
            *graph_, [](const tbb::flow::continue_msg& message) { return message; }));
      }
      for (const auto& [from, to] : nodes.edges) {
        tbb::flow::make_edge(*nodes_[static_cast<size_t>(from)], *nodes_[static_cast<size_t>(to)]);
      }
    });
  }
  void Run() {
    arena_.execute([this] {
      nodes_.front()->try_put(tbb::flow::continue_msg());
      graph_->wait_for_all();
    });
  }

 private:
  tbb::task_arena arena_;
  std::unique_ptr<tbb::flow::graph> graph_;
  std::vector<std::unique_ptr<FlowNode>> nodes_;
};

void CompareEmptyNodes(benchmark::State& state, const EmptyNodes& nodes, int threads) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<size_t>(threads));
  SessionOfNodes session(nodes, threads);
  CostlyTasks costly(nodes, threads);
  FlowGraph onetbb(nodes, threads);
  struct Candidate {
    const char* name;
    std::function<void()> run;
    std::vector<double> ns = {};
  };
  std::vector<Candidate> candidates = {{"session_ns", [&] { session.Run(); }},
                                       {"costly_ns", [&] { costly.Run(); }},
                                       {"onetbb_ns", [&] { onetbb.Run(); }}};
  for (auto _ : state) {
    for (Candidate& candidate : candidates) {
      candidate.run();  // The candidate's threads wake up, the others' go to sleep.
      constexpr int kRuns = 5;
      const auto start = steady_clock::now();
      for (int i = 0; i < kRuns; ++i) candidate.run();
      const std::chrono::duration<double, std::nano> elapsed = steady_clock::now() - start;
      candidate.ns.push_back(elapsed.count() / kRuns / nodes.count);
    }
    std::rotate(candidates.begin(), candidates.begin() + 1, candidates.end());
  }
  for (const Candidate& candidate : candidates) {
    state.counters[candidate.name] = Median(candidate.ns);
  }
}

void Register() {
  for (const int threads : {1, 2}) {
    for (const auto& [name, nodes] :
         {std::pair("chain", Chain(1000)), std::pair("wide", Wide(1000))}) {
      benchmark::RegisterBenchmark(
          (std::string(name) + "/threads:" + std::to_string(threads)).c_str(),
          [nodes = nodes, threads](benchmark::State& state) {
            CompareEmptyNodes(state, nodes, threads);
          })
          ->Iterations(300)
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace
}  // namespace cosched

int main(int argc, char** argv) {
  cosched::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
