#pragma once
// `cosched bench engine --split-grid`: where inter-op parallelism pays, and how near split = "auto"
// comes to the best fixed split. Called by bench.cc.

#include "experiments/bench/bench_engine.h"

namespace cosched {

// The exit code, as RunBenchEngine's. Each cell is measured in a process of its own.
int RunBenchSplits(const BenchEngineOptions& options, const Topology& topology);

}  // namespace cosched
