#pragma once
// `cosched bench engine --capacity`: what a grant of some cores costs a program that could use
// more. Called by bench.cc.

#include <vector>

#include "experiments/bench/bench_engine.h"

namespace cosched {

// The exit code, as RunBenchEngine's. Each cell is measured with each of the capacities, in a
// process of its own.
int RunBenchCapacities(const BenchEngineOptions& options, const std::vector<int>& capacities,
                       const Topology& topology);

}  // namespace cosched
