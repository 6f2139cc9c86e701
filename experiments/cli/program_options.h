#pragma once
// What the commands that run programs ask alike: --precision, and the bounds of --batch and
// --threads.

#include <string>

#include "engine/base/cpu_set.h"
#include "experiments/cli/typed_option.h"
#include "workloads/program.h"

namespace cosched {

inline constexpr int kLargestBatch = 65536;
inline constexpr int kMostThreads = CpuSet::kMaxCpu + 1;

// precision: a Precision or a std::vector of it.
template <typename Value>
CLI::Option* AddPrecisionOption(CLI::App* command, Value* precision) {
  return AddChoice<Value, Precision>(command, "--precision", precision,
                                     {{"f32", Precision::kFloat}, {"bf16", Precision::kBFloat16}},
                                     "Of images");
}

// Throws InputError for one that this CPU does not compute in.
inline void CheckPrecision(Precision precision) {
  const std::string problem = PrecisionProblem(precision);
  if (!problem.empty()) RefuseOption("--precision", problem, "f32");
}

}  // namespace cosched
