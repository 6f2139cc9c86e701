#include "experiments/bench/bench_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/analysis/statistics.h"
#include "experiments/bench/bench_rows.h"
#include "experiments/os/child_process.h"
#include "experiments/os/exit_code.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// By op type, the longest first.
Json OpTable(const std::vector<NodeSpeed>& nodes) {
  struct OpSum {
    int nodes = 0;
    double seconds = 0, flops = 0;
  };
  std::map<std::string, OpSum> sums;
  double total = 0;
  for (const NodeSpeed& node : nodes) {
    OpSum& sum = sums[node.op];
    ++sum.nodes;
    sum.seconds += node.seconds;
    sum.flops += node.flops;
    total += node.seconds;
  }
  std::vector<std::pair<std::string, OpSum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  Json table = Json::array();
  for (const auto& [op, sum] : sorted) {
    table.push_back({{"op", op},
                     {"nodes", sum.nodes},
                     {"seconds", sum.seconds},
                     {"share", sum.seconds / total},
                     {"gflop_per_s", sum.flops / sum.seconds / 1e9}});
  }
  return table;
}

// In the order of the run.
Json NodeTable(const std::vector<NodeSpeed>& nodes) {
  double total = 0;
  for (const NodeSpeed& node : nodes) total += node.seconds;
  Json table = Json::array();
  for (const NodeSpeed& node : nodes) {
    table.push_back({{"name", node.name},
                     {"op", node.op},
                     {"seconds", node.seconds},
                     {"share", node.seconds / total},
                     {"gflop_per_s", node.flops / node.seconds / 1e9}});
  }
  return table;
}

Json CellRow(const EngineCell& cell, const EngineSpeed& speed) {
  const auto [fastest, slowest] =
      std::minmax_element(speed.step_seconds.begin(), speed.step_seconds.end());
  const double step = Median(speed.step_seconds);
  Json row = {{"model", cell.model},
              {"mode", ToString(cell.mode)},
              {"precision", ToString(cell.precision)},
              {"batch", cell.batch},
              {"threads", cell.cores.Count()},
              {"deterministic", cell.deterministic},
              {"inter", speed.split.inter},
              {"intra", speed.split.intra},
              {"images_per_s", cell.batch / step},
              {"images_per_s_low", cell.batch / *slowest},
              {"images_per_s_high", cell.batch / *fastest},
              {"repetitions", speed.step_seconds.size()},
              {"step_s", step},
              {"gflop", speed.flops / 1e9},
              {"gflop_per_s", speed.flops / step / 1e9}};
  if (!speed.kernels_seconds.empty()) {
    std::vector<double> shares;
    for (size_t i = 0; i < speed.step_seconds.size(); ++i) {
      shares.push_back(speed.kernels_seconds[i] / speed.step_seconds[i]);
    }
    row["kernels_s"] = Median(speed.kernels_seconds);
    row["share_of_kernels"] = Median(shares);
  }
  return row;
}

std::string MeasureCell(const EngineCell& cell, const BenchEngineOptions& options,
                        const Topology& topology) {
  const EngineSpeed speed = MeasureEngine(cell, topology, options.measure);
  Json row = CellRow(cell, speed);
  row["peak_memory_bytes"] = PeakMemoryBytes();
  if (options.per_op) {
    row["ops"] = OpTable(speed.nodes);
    row["nodes"] = NodeTable(speed.nodes);
  }
  return row.dump();
}

// What the rows show in columns, in their order; a cell may lack some.
struct Column {
  const char* key;
  const char* title;
  int width;
  double scale;
  int decimals;
};
constexpr Column kColumns[] = {
    {"images_per_s", "images/s", 10, 1, 2},       {"images_per_s_low", "lowest", 10, 1, 2},
    {"gflop_per_s", "GFLOP/s", 8, 1, 1},          {"share_of_peak", "% peak", 7, 100, 1},
    {"share_of_kernels", "% kernels", 9, 100, 1}, {"peak_memory_bytes", "MiB", 8, 1.0 / 1048576, 1},
};

class Report {
 public:
  explicit Report(const BenchEngineOptions& options) : options_(options) {}

  void Add(const Json& row) {
    PrintBenchRow(row, options_.format, !std::exchange(begun_, true), PrintLine);
  }

 private:
  static void PrintLine(const Json& row, bool first) {
    if (first) {
      fmt::print("{:<24} {:<5} {:<9} {:>5} {:>7} {:>11}", "model", "mode", "precision", "batch",
                 "threads", "inter x intra");
      for (const Column& column : kColumns) fmt::print(" {:>{}}", column.title, column.width);
      fmt::print("\n");
    }
    fmt::print("{:<24} {:<5} {:<9} {:>5} {:>7} {:>13}", row["model"].get<std::string>(),
               row["mode"].get<std::string>(), row["precision"].get<std::string>(),
               row["batch"].get<int>(), row["threads"].get<int>(),
               fmt::format("{}x{}", row["inter"].get<int>(), row["intra"].get<int>()));
    for (const Column& column : kColumns) {
      const std::string text =
          row.contains(column.key) && row[column.key].is_number()
              ? fmt::format("{:.{}f}", row[column.key].get<double>() * column.scale,
                            column.decimals)
              : "-";
      fmt::print(" {:>{}}", text, column.width);
    }
    fmt::print("\n");
    if (row.contains("ops")) AddOps(row);
  }

  static void AddOps(const Json& row) {
    fmt::print("  {:<42} {:>10} {:>6} {:>8}\n", "op (nodes), then node", "us", "%", "GFLOP/s");
    const auto line = [](const std::string& name, const Json& part) {
      fmt::print("  {:<42} {:>10.1f} {:>6.2f} {:>8.1f}\n", name,
                 part["seconds"].get<double>() * 1e6, part["share"].get<double>() * 100,
                 part["gflop_per_s"].get<double>());
    };
    for (const Json& op : row["ops"])
      line(fmt::format("{} ({})", op["op"].get<std::string>(), op["nodes"].get<int>()), op);
    for (const Json& node : row["nodes"])
      line(fmt::format("  {} [{}]", node["name"].get<std::string>(), node["op"].get<std::string>()),
           node);
  }

  const BenchEngineOptions& options_;
  bool begun_ = false;
};

// This machine's peak in f32 by number of threads, each measured when it is first asked for.
class Peaks {
 public:
  Peaks(double seconds, const Topology& topology) : seconds_(seconds), topology_(topology) {}

  // 0 if it could not be measured.
  double Of(const CpuSet& cores) {
    const auto [entry, is_new] = peaks_.try_emplace(cores.Count(), 0);
    if (is_new) {
      const ChildOutcome outcome = RunInChild(
          [&] { return Json(MeasurePeak(cores, cores.Count(), topology_, seconds_)).dump(); });
      if (outcome.exit_code == 0) entry->second = Json::parse(outcome.text).get<double>();
    }
    return entry->second;
  }

 private:
  double seconds_;
  const Topology& topology_;
  std::map<int, double> peaks_;
};

}  // namespace

int RunBenchEngine(const BenchEngineOptions& options, const Topology& topology) {
  Peaks peaks(options.peak_seconds, topology);
  Report report(options);
  int exit_code = 0;
  for (const EngineCell& cell : options.cells) {
    const bool has_peak = options.peak_seconds > 0 && cell.precision == Precision::kFloat;
    const double peak = has_peak ? peaks.Of(cell.cores) : 0;
    const ChildOutcome outcome = RunInChild([&] { return MeasureCell(cell, options, topology); });
    if (outcome.exit_code != 0) {
      if (outcome.exit_code < 0)
        fmt::print(stderr, "cosched: the cell {} batch {} died\n", cell.model, cell.batch);
      if (exit_code == 0) exit_code = outcome.exit_code < 0 ? 1 : outcome.exit_code;
      if (outcome.exit_code == kBadInput) break;
      continue;
    }
    Json row = Json::parse(outcome.text);
    if (options.peak_seconds > 0) {  // null where it was not or could not be measured.
      row["peak_gflop_per_s"] = peak > 0 ? Json(peak / 1e9) : Json();
      row["share_of_peak"] =
          peak > 0 ? Json(row["gflop_per_s"].get<double>() * 1e9 / peak) : Json();
    }
    report.Add(row);
  }
  return exit_code;
}

}  // namespace cosched
