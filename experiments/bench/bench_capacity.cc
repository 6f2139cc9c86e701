#include "experiments/bench/bench_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/analysis/statistics.h"
#include "experiments/bench/bench_rows.h"
#include "experiments/os/child_process.h"
#include "workloads/capacity_benchmark.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// What costs more first.
Json NodeRows(const CapacityCost& cost) {
  std::vector<std::pair<std::string, CapacityCost::Node>> nodes(cost.nodes.begin(),
                                                                cost.nodes.end());
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
    return a.second.seconds - a.second.own_seconds > b.second.seconds - b.second.own_seconds;
  });
  Json rows = Json::array();
  for (const auto& [name, node] : nodes) {
    rows.push_back({{"name", name},
                    {"op", node.op},
                    {"seconds", node.seconds},
                    {"own_seconds", node.own_seconds}});
  }
  return rows;
}

// `cost`: the median of the ratios of steps that were measured in one turn.
Json CapacityRow(const EngineCell& cell, int capacity, const CapacityCost& cost, bool per_op) {
  std::vector<double> ratios;
  for (size_t i = 0; i < cost.step_seconds.size(); ++i)
    ratios.push_back(cost.step_seconds[i] / cost.own_step_seconds[i]);
  const Interval interval = MedianInterval(ratios);
  Json row = {{"model", cell.model},
              {"mode", ToString(cell.mode)},
              {"batch", cell.batch},
              {"threads", cell.cores.Count()},
              {"capacity", capacity},
              {"deterministic", cell.deterministic},
              {"step_s", Median(cost.step_seconds)},
              {"own_step_s", Median(cost.own_step_seconds)},
              {"cost", Median(ratios)},
              {"cost_low", interval.low},
              {"cost_high", interval.high},
              {"repetitions", ratios.size()},
              {"peak_memory_bytes", PeakMemoryBytes()}};
  if (per_op) row["nodes"] = NodeRows(cost);
  return row;
}

void PrintCapacityLine(const Json& row, bool first) {
  if (first) {
    fmt::print("{:<24} {:<5} {:>5} {:>7} {:>8} {:>10} {:>10} {:>6}  {}\n", "model", "mode", "batch",
               "threads", "capacity", "step ms", "own ms", "cost", "its interval");
  }
  fmt::print("{:<24} {:<5} {:>5} {:>7} {:>8} {:>10.3f} {:>10.3f} {:>6.3f}  {:.3f} to {:.3f}\n",
             row["model"].get<std::string>(), row["mode"].get<std::string>(),
             row["batch"].get<int>(), row["threads"].get<int>(), row["capacity"].get<int>(),
             row["step_s"].get<double>() * 1e3, row["own_step_s"].get<double>() * 1e3,
             row["cost"].get<double>(), row["cost_low"].get<double>(),
             row["cost_high"].get<double>());
  if (!row.contains("nodes")) return;
  for (const Json& node : row["nodes"]) {
    fmt::print(
        "  {:<56} {:>12.1f} us  own {:>12.1f} us\n",
        fmt::format("{} [{}]", node["name"].get<std::string>(), node["op"].get<std::string>()),
        node["seconds"].get<double>() * 1e6, node["own_seconds"].get<double>() * 1e6);
  }
}

}  // namespace

int RunBenchCapacities(const BenchEngineOptions& options, const std::vector<int>& capacities,
                       const Topology& topology) {
  bool first = true;
  EngineBenchmarkOptions measure = options.measure;
  measure.kernels = options.per_op;
  for (const EngineCell& cell : options.cells) {
    for (const int capacity : capacities) {
      const ChildOutcome outcome = RunInChild([&] {
        const CapacityCost cost = MeasureCapacity(cell, {capacity, capacity}, topology, measure);
        return CapacityRow(cell, capacity, cost, options.per_op).dump();
      });
      if (outcome.exit_code != 0) return outcome.exit_code < 0 ? 1 : outcome.exit_code;
      const Json row = Json::parse(outcome.text);
      PrintBenchRow(row, options.format, std::exchange(first, false), PrintCapacityLine);
    }
  }
  return 0;
}

}  // namespace cosched
