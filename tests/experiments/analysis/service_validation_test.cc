// Services and nothing else, simulated twice: the same programs as the hardware and as a simulator
// that is right, and slower ones as a simulator that is wrong.

#include "experiments/analysis/service_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/analysis/validation.h"
#include "tests/experiments/harness/checked_run.h"

namespace cosched {
namespace {

class ServiceValidationTest : public testing::Test {
 protected:
  // On a core a request takes so long.
  std::filesystem::path RunIt(double seconds, const std::vector<std::string>& overrides = {}) {
    Profile profile;
    ProgramProfile& program = profile.programs.emplace_back();
    program.program = "lenet5 infer batch 1";
    program.alone = {{1, {1, 1}, {seconds, seconds, seconds, 3}}};
    profile.cores = 1;
    SaveProfile(profile, folder_.path() / "p.json");
    WriteText(folder_.path() / "x.toml", R"(name = "x"
backend = "simulated"
trials = 6
policies = ["half", "whole", "devices-only"]
elasticity = ["malleable"]
machine = { topology = "pack:1 core:2 pu:1", profile = "p.json" }
simulation = { charge_decisions = "none", startup = false, oversubscription = false }
services = { window_s = 1 }
[policy.half]
use = "static-shares"
amount = 0.5
[policy.whole]
use = "static-shares"
amount = 1
[[device]]
name = "d"
profile = "d.json"
[[workload]]
name = "a"
model = "lenet5"
mode = "serve"
batch = 1
sla_ms = 120
cores = { min = 1, max = 1 }
[[trace.requests]]
service = "a"
phases = [ { for_s = 10, rate = 5 } ]
)");
    WriteText(folder_.path() / "d.json", R"({"format": 1, "name": "d",
 "provenance": "modelled: a test", "switch_s": 0, "memory_mib": 2, "models": {
 "lenet5": {"occupancy_s": {"1": [0.3]}, "host_cpu_s": 0, "host_wait_s": 0, "memory_mib": 1}}})");
    return RunChecked(folder_, here_, LoadConfig(folder_.path() / "x.toml", overrides, here_));
  }

  const TemporaryFolder folder_;
  const Topology here_ = Topology::Synthetic("pack:1 core:1 pu:1");
};

TEST_F(ServiceValidationTest, ASimulatorThatIsRightHasNoErrorOnServices) {
  const Validation validation = Validate({{RunIt(0.05), RunIt(0.05)}});
  EXPECT_FALSE(validation.by_makespan || validation.by_turnaround) << "there are no jobs";
  ASSERT_TRUE(validation.services);
  const ServiceAgreement& services = *validation.services;
  EXPECT_EQ(services.services.size(), 18U);
  EXPECT_EQ(services.granted.size(), 18U);
  for (const CellPair& pair : validation.pairs) {
    EXPECT_TRUE(pair.Comparable()) << pair.measured.problem;  // What is declined is not lost.
    EXPECT_FALSE(pair.measured.saturated) << "no job arrives";
  }
  EXPECT_EQ(services.response_error.value, 0);
  EXPECT_EQ(services.response_error.samples, 6);
  EXPECT_EQ(services.median_error.value, 0);
  EXPECT_EQ(services.throughput_error.value, 0);
  EXPECT_EQ(services.violation_difference.value, 0);
  EXPECT_EQ(services.granted_error.value, 0);
  ASSERT_TRUE(services.by_violations && services.by_granted);
  EXPECT_EQ(services.by_granted->pairs, 3);
  EXPECT_EQ(services.by_granted->told_apart, 3);
  EXPECT_EQ(services.by_granted->ordered_alike, 3);
}

TEST_F(ServiceValidationTest, ErrorsOfServicesAreMeansOfATracesCells) {
  const Validation validation = Validate({{RunIt(0.05), RunIt(0.08)}});
  ASSERT_TRUE(validation.services);
  const ServiceAgreement& services = *validation.services;
  double sum = 0, waited = 0, medians = 0, throughputs = 0, points = 0;
  int cells = 0;
  for (const ServicePair& pair : services.services) {
    if (pair.key.trial != 1) continue;
    if (pair.key.policy == "devices-only") {
      EXPECT_EQ(pair.measured.mean_ms, pair.simulated.mean_ms) << "no program there";
    } else {
      EXPECT_NE(pair.simulated.mean_ms, pair.measured.mean_ms);
    }
    sum += std::abs(pair.simulated.mean_ms / pair.measured.mean_ms - 1);
    EXPECT_GT(pair.measured.inside_ms, 0);
    waited += pair.measured.p50_ms - pair.measured.inside_ms;
    medians += std::abs(pair.simulated.p50_ms / pair.measured.p50_ms - 1);
    throughputs += std::abs(pair.simulated.per_second / pair.measured.per_second - 1);
    points += std::abs(*pair.simulated.violated - *pair.measured.violated);
    ++cells;
  }
  EXPECT_EQ(cells, 3);
  EXPECT_GT(points, 0);
  EXPECT_GT(waited, 0) << "who waits for his turn is not inside yet";
  const Validation one = Validate({{RunIt(0.05, {"trials=1"}), RunIt(0.08, {"trials=1"})}});
  EXPECT_NEAR(one.services->response_error.value, sum / 3, 1e-9);
  EXPECT_GT(medians, 0);
  EXPECT_NEAR(one.services->median_error.value, medians / 3, 1e-9);
  EXPECT_NEAR(one.services->throughput_error.value, throughputs / 3, 1e-9);
  EXPECT_NEAR(one.services->violation_difference.value, points / 3, 1e-9);
}

TEST_F(ServiceValidationTest, TheTextAndTheJsonTellWhatServicesGot) {
  const Validation validation = Validate({{RunIt(0.05), RunIt(0.08)}});
  const std::string text = ValidationTable(validation);
  for (const char* part :
       {"service a: mean response", "granted in a cell, in core-seconds",
        "mean difference of windows above objectives", "by core-seconds granted"})
    EXPECT_THAT(text, testing::HasSubstr(part));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("turnaround")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("nan")));
  const nlohmann::ordered_json json = ValidationJson(validation);
  EXPECT_EQ(json["services"]["services"].size(), 18U);
  EXPECT_EQ(json["services"]["granted"][0]["trial"], 1);
  EXPECT_EQ(json["services"]["response_error"]["trials"], 6);
  EXPECT_TRUE(json["by_makespan"].is_null());
}

}  // namespace
}  // namespace cosched
