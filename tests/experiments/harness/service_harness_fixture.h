#pragma once
// A simulated experiment of one service on two cores, in virtual time: for tests of services.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/analysis/metrics.h"
#include "experiments/harness/harness.h"
#include "tests/experiments/harness/checked_run.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {

// A step takes 0.1 s on a core, whatever is in the batch, and half of it on two.
inline Profile OneProgram(double resize_s) {
  Profile profile;
  for (const char* name :
       {"lenet5 infer batch 1", "lenet5 infer batch 4", "lenet5 train batch 1"}) {
    ProgramProfile& program = profile.programs.emplace_back();
    program.program = name;
    program.alone = {{1, {1, 1}, {0.1, 0.1, 0.1, 3}}, {2, {1, 2}, {0.05, 0.05, 0.05, 3}}};
  }
  profile.cores = 2;
  profile.resize.grow = profile.resize.shrink = {resize_s, resize_s};
  return profile;
}

class ServiceHarnessTest : public testing::Test {
 protected:
  // The service has both cores of the machine alone unless `rest` brings others.
  ExperimentConfig Config(const std::string& rest = "",
                          const std::vector<std::string>& overrides = {}) {
    SaveProfile(OneProgram(resize_s_), folder_.path() / "p.json");
    WriteText(folder_.path() / "x.toml", R"(name = "x"
backend = "simulated"
trials = 2
policies = ["strict"]
machine = { topology = "pack:1 core:2 pu:1", profile = "p.json" }
simulation = { charge_decisions = "none", startup = false }
[[workload]]
name = "net"
model = "lenet5"
mode = "serve"
batch = 1
slo_ms = 120
[trace]
[[trace.requests]]
count = 5
gap = { distribution = "fixed", mean_s = 0.02 }
)" + rest);
    return LoadConfig(folder_.path() / "x.toml", overrides, here_);
  }

  std::filesystem::path Run(
      const ExperimentConfig& config, HarnessResult* result = nullptr,
      const std::function<std::unique_ptr<Policy>(const std::string&)>& make_policy = {}) {
    return RunChecked(folder_, here_, config, result, make_policy);
  }

  ServiceSummary Only(const std::filesystem::path& run, const CellKey& key) {
    const std::vector<ServiceSummary> services = Summarize(run, key).services;
    EXPECT_EQ(services.size(), 1U);
    return services.empty() ? ServiceSummary() : services.front();
  }

  const TemporaryFolder folder_;
  const Topology here_ = Topology::Synthetic("pack:1 core:1 pu:1");
  double resize_s_ = 0;
};

}  // namespace cosched
