#include "experiments/bench/bench_splits.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/analysis/statistics.h"
#include "experiments/bench/bench_rows.h"
#include "experiments/os/child_process.h"
#include "workloads/split_benchmark.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// A row a setting; `share_of_best` compares with the best fixed one: the median of the ratios of
// repetitions that were measured in the same turn.
Json SplitRows(const EngineCell& cell, const std::vector<SplitSpeed>& speeds) {
  const SplitSpeed* best = nullptr;
  for (const SplitSpeed& speed : speeds) {
    if (speed.setting != "fixed") continue;
    if (best == nullptr || Median(speed.step_seconds) < Median(best->step_seconds)) best = &speed;
  }
  Json rows = Json::array();
  for (const SplitSpeed& speed : speeds) {
    std::vector<double> shares;
    for (size_t i = 0; i < speed.step_seconds.size(); ++i) {
      shares.push_back(best->step_seconds[i] / speed.step_seconds[i]);
    }
    rows.push_back({{"model", cell.model},
                    {"mode", ToString(cell.mode)},
                    {"batch", cell.batch},
                    {"threads", cell.cores.Count()},
                    {"setting", speed.setting},
                    {"inter", speed.split.inter},
                    {"intra", speed.split.intra},
                    {"images_per_s", cell.batch / Median(speed.step_seconds)},
                    {"share_of_best", Median(shares)},
                    {"repetitions", speed.step_seconds.size()}});
  }
  return rows;
}

void PrintSplitsLine(const Json& row, bool first) {
  if (first) {
    fmt::print("{:<24} {:<5} {:>5} {:>7}  {:<10} {:>13} {:>10} {:>12}\n", "model", "mode", "batch",
               "threads", "setting", "inter x intra", "images/s", "% best fixed");
  }
  fmt::print("{:<24} {:<5} {:>5} {:>7}  {:<10} {:>13} {:>10.2f} {:>12.1f}\n",
             row["model"].get<std::string>(), row["mode"].get<std::string>(),
             row["batch"].get<int>(), row["threads"].get<int>(), row["setting"].get<std::string>(),
             fmt::format("{}x{}", row["inter"].get<int>(), row["intra"].get<int>()),
             row["images_per_s"].get<double>(), row["share_of_best"].get<double>() * 100);
}

}  // namespace

int RunBenchSplits(const BenchEngineOptions& options, const Topology& topology) {
  bool first = true;
  for (const EngineCell& cell : options.cells) {
    const ChildOutcome outcome = RunInChild(
        [&] { return SplitRows(cell, MeasureSplits(cell, topology, options.measure)).dump(); });
    if (outcome.exit_code != 0) return outcome.exit_code < 0 ? 1 : outcome.exit_code;
    for (const Json& row : Json::parse(outcome.text)) {
      PrintBenchRow(row, options.format, std::exchange(first, false), PrintSplitsLine);
    }
  }
  return 0;
}

}  // namespace cosched
