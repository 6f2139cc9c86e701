#pragma once
// `cosched bench engine`: each cell in a process of its own, told as it comes, as a JSON object a
// line, as CSV or as a table. Called by bench.cc; experiments/peers/compare.sh reads the JSON.

#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "workloads/engine_benchmark.h"

namespace cosched {

struct BenchEngineOptions {
  enum class Format { kTable, kJson, kCsv };

  std::vector<EngineCell> cells;
  EngineBenchmarkOptions measure;
  double peak_seconds = 1;  // For this machine's peak, once for each number of threads; 0: none.
  bool per_op = false;
  Format format = Format::kTable;
};

// The exit code: that of the first cell that failed, which ends the run if its input was bad.
int RunBenchEngine(const BenchEngineOptions& options, const Topology& topology);

}  // namespace cosched
