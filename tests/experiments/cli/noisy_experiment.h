#pragma once
// A small simulated experiment, with noise, for tests of what runs of it say: two policies, rigid
// and malleable.

#include <string>

#include "tests/paths.h"

namespace cosched {

// Its lines stand above its tables, its tables at the end.
inline std::string NoisyExperiment(const std::string& lines, const std::string& tables = "") {
  return R"(name = "x"
backend = "simulated"
policies = ["strict", "equal-share"]
)" + lines +
         R"([machine]
topology = "core:4 pu:1"
profile = ")" +
         InSource("experiments/profiles/example.json") + R"("
[simulation]
noise = 0.05
[trace]
jobs = 8
gap = { distribution = "normal", mean_s = 0.3, sd_s = 0.05 }
[[workload]]
model = "resnet20"
batch = 32
steps = 20
cores = { min = 1, preferred = 2, max = 4 }
)" + tables;
}

}  // namespace cosched
