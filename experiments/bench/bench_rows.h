#pragma once
// What the benchmarks of `cosched bench engine` print: a row at a time, as it comes.

#include <nlohmann/json.hpp>

#include "experiments/bench/bench_engine.h"

namespace cosched {

// On stdout: the object on a line; as CSV, without its tables, under a header if it is the first;
// or as print_line shows it.
void PrintBenchRow(const nlohmann::ordered_json& row, BenchEngineOptions::Format format, bool first,
                   void (*print_line)(const nlohmann::ordered_json&, bool first));

}  // namespace cosched
