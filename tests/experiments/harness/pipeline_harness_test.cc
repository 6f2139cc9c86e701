// Simulated pipelines through the harness: their answers and stages on the record, open requests,
// and what a profile is to know of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/harness/harness.h"
#include "tests/experiments/harness/checked_run.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using ::testing::HasSubstr;

constexpr const char* kComputing = "increment pipeline, 3 stages of 10 ms, 4 items";
constexpr const char* kWaiting = "increment pipeline, 3 stages of 10 ms of waiting, 4 items";

class PipelineHarnessTest : public testing::Test {
 protected:
  // Five requests of 4 items, 20 ms after each other, through three stages of 10 ms an item.
  ExperimentConfig Config(const std::string& keys, const std::string& rest = "",
                          const std::vector<std::string>& overrides = {}) {
    SaveProfile(profile_, folder_.path() / "p.json");
    WriteText(folder_.path() / "x.toml", R"(name = "x"
backend = "simulated"
policies = ["strict"]
machine = { topology = "pack:1 core:2 pu:1", profile = "p.json" }
simulation = { charge_decisions = "none", startup = false }
[[workload]]
name = "adding"
mode = "pipeline"
pipeline = "increment"
stages = 3
items = 4
)" + keys + R"(
[trace]
[[trace.requests]]
count = 5
gap = { distribution = "fixed", mean_s = 0.02 }
)" + rest);
    return LoadConfig(folder_.path() / "x.toml", overrides, here_);
  }

  static Profile Profiled() {
    Profile profile;
    profile.cores = 2;
    for (const char* name : {kComputing, kWaiting}) {
      ProgramProfile& program = profile.programs.emplace_back();
      program.program = name;
      program.alone = {{1, {1, 1}, {0.12, 0.12, 0.12, 3}}, {2, {2, 2}, {0.06, 0.06, 0.06, 3}}};
      for (const char* stage : {"add1", "add2", "add3"})
        program.stages.push_back({stage, {.per_item_s = 0.01}});
    }
    return profile;
  }

  ServiceSummary Only(const std::filesystem::path& run) {
    const std::vector<ServiceSummary> services = Summarize(run, {"strict"}).services;
    EXPECT_EQ(services.size(), 1U);
    return services.empty() ? ServiceSummary() : services.front();
  }

  std::filesystem::path Run(const std::string& keys) {
    return RunChecked(folder_, here_, Config(keys));
  }

  static std::string Read(const std::filesystem::path& run, const std::string& name) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(run)) {
      if (entry.path().filename() == name) return ReadText(entry.path());
    }
    return std::string();
  }
  // How many requests may be open at the end, by the last row of stages.csv.
  static int OpenAtTheEnd(const std::filesystem::path& run) {
    const std::string stages = Read(run, "stages.csv");
    const size_t last = stages.rfind(',');
    return last == std::string::npos ? 0 : std::stoi(stages.substr(last + 1));
  }

  const TemporaryFolder folder_;
  const Topology here_ = Topology::Synthetic("pack:1 core:1 pu:1");
  Profile profile_ = Profiled();
};

TEST_F(PipelineHarnessTest, CallsComputeSideBySideOnTheCoresThatThereAre) {
  // 12 calls of 10 ms on two cores are 60 ms of a request, and the next is there by then.
  const ServiceSummary adding = Only(Run("work_ms = 10\n"));
  EXPECT_EQ(adding.served, 5);
  EXPECT_EQ(adding.dropped, 0);
  EXPECT_NEAR(adding.throughput_per_s, 5 / 0.3, 0.1);
  EXPECT_NEAR(*adding.p99_latency_ms, 300 - 80, 0.5);
}

TEST_F(PipelineHarnessTest, CallsComputeOnTheClustersCoresInPlaceOfThoseThatAreGranted) {
  const auto run = [this](const std::string& machines) {
    return Only(RunChecked(
        folder_, here_,
        Config("work_ms = 10\n", "", {"simulation.cluster.machines=[" + machines + "]"})));
  };
  const ServiceSummary four = run("{ count=2, cores=2 }");
  EXPECT_EQ(four.served, 5);
  EXPECT_NEAR(four.throughput_per_s, 5 / 0.15, 0.2);
  EXPECT_NEAR(*four.p99_latency_ms, 150 - 80, 0.5);
  EXPECT_NEAR(run("{}").throughput_per_s, 5 / 0.6, 0.05);
}

TEST_F(PipelineHarnessTest, WaitingStagesTakeNoCore) {
  // All items of a request wait side by side: 30 ms each, with as many open as come in this time.
  const ServiceSummary side_by_side =
      Only(Run("wait_ms = 10\nparallel = 8\nopen = 2\ncredit_link = \"end-to-end\"\n"));
  EXPECT_NEAR(*side_by_side.mean_latency_ms, 30, 0.1);
  // One after the other for want of credits: 30, 60, … 150 from 0, 20, … 80 on.
  const ServiceSummary in_turn =
      Only(Run("wait_ms = 10\nparallel = 8\nopen = 1\ncredit_link = \"end-to-end\"\n"));
  EXPECT_NEAR(*in_turn.mean_latency_ms, (30 + 40 + 50 + 60 + 70) / 5.0, 0.1);
}

TEST_F(PipelineHarnessTest, StagesAreOnTheRecordAndEqualSeedsGiveEqualBytes) {
  profile_.programs[0].stages[1].cost.noise = 0.4;
  const std::filesystem::path first = Run("work_ms = 10\n"), second = Run("work_ms = 10\n");
  const std::string stages = Read(first, "stages.csv");
  EXPECT_THAT(stages, HasSubstr(",add3,"));
  EXPECT_EQ(stages, Read(second, "stages.csv"));
  EXPECT_EQ(Read(first, "requests.csv"), Read(second, "requests.csv"));
  EXPECT_NE(Read(first, "requests.csv"), "");
}

// Lets fewer requests be open than the pipeline begins with.
class OneOpen final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event&) override {
    Allocation allocation;
    for (const JobView& job : view.jobs.Waiting())
      allocation.jobs[job.id] = cosched::Run{.cores = 2, .split = {}, .open_requests = 1};
    return allocation;
  }
};

TEST_F(PipelineHarnessTest, APolicyLimitsOpenRequests) {
  const ExperimentConfig config =
      Config("wait_ms = 10\nparallel = 8\nopen = 2\ncredit_link = \"end-to-end\"\n");
  const std::filesystem::path run = RunChecked(
      folder_, here_, config, nullptr,
      [](const std::string&) -> std::unique_ptr<Policy> { return std::make_unique<OneOpen>(); });
  EXPECT_NEAR(*Only(run).mean_latency_ms, (30 + 40 + 50 + 60 + 70) / 5.0, 0.1);
}

// Gives a pipeline half a core of two.
class HalfACore final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event&) override {
    Allocation allocation;
    for (const JobView& job : view.jobs.Waiting())
      allocation.jobs[job.id] = cosched::Run{.cores = Share{CpuShare{500}}, .split = {}};
    return allocation;
  }
};

TEST_F(PipelineHarnessTest, AShareOfTheCoresIsSpentByItsCallsOnly) {
  const std::filesystem::path run = RunChecked(
      folder_, here_, Config("work_ms = 10\n"), nullptr,
      [](const std::string&) -> std::unique_ptr<Policy> { return std::make_unique<HalfACore>(); });
  // 0.6 s of work in periods of 100 ms with 50 ms each: the last is done in the twelfth period.
  const ServiceSummary adding = Only(run);
  EXPECT_EQ(adding.served, 5);
  EXPECT_GT(*adding.p99_latency_ms, 1100 - 80);
  EXPECT_LT(*adding.p99_latency_ms, 1200 - 80);
}

constexpr const char* kManyRequests = "trace.requests.0.count=2000";
// Six that ask again as soon as they are answered.
constexpr const char* kClients = "trace.requests.0.clients=6";
constexpr const char* kAtOnce = "trace.requests.0.gap.mean_s=0";

TEST_F(PipelineHarnessTest, SplitAutoFindsTheOpenRequestsThatAnswerFastest) {
  const auto run = [this](const std::string& keys, const std::string& elasticity) {
    return RunChecked(
        folder_, here_,
        Config("wait_ms = 10\nparallel = 8\nopen = 1\nopen_max = 3\n"
               "credit_link = \"end-to-end\"\n" +
                   keys,
               "", {kManyRequests, kClients, kAtOnce, "elasticity=['" + elasticity + "']"}));
  };
  const std::filesystem::path by_policy = run("", "malleable");
  EXPECT_EQ(OpenAtTheEnd(by_policy), 1);
  EXPECT_NEAR(Only(by_policy).throughput_per_s, 1 / 0.03, 0.1);
  const std::filesystem::path by_itself = run("split = \"auto\"\n", "malleable");
  EXPECT_EQ(OpenAtTheEnd(by_itself), 3);
  EXPECT_GT(Only(by_itself).throughput_per_s, 0.8 * 3 / 0.03) << "but for the search";
  EXPECT_EQ(OpenAtTheEnd(run("split = \"auto\"\n", "rigid")), 1) << "its threads are fixed";
}

TEST_F(PipelineHarnessTest, SplitAutoFindsTheSplitAndItsResizesAreOnTheRecord) {
  const auto run = [this](const std::string& keys) {
    return RunChecked(folder_, here_,
                      Config("work_ms = 10\nopen = 2\nopen_max = 2\n" + keys,
                             "[policy.scripted]\ntimetable = \"0:2:1x1\"\n",
                             {kManyRequests, kClients, kAtOnce, "policies=['scripted']"}));
  };
  const auto throughput = [](const std::filesystem::path& run) {
    return Summarize(run, {"scripted"}).services.at(0).throughput_per_s;
  };
  EXPECT_NEAR(throughput(run("")), 1 / 0.12, 0.1);  // A call at a time, on two cores.
  const std::filesystem::path by_itself = run("split = \"auto\"\n");
  EXPECT_GT(throughput(by_itself), 0.9 / 0.06) << "two side by side";
  EXPECT_THAT(Read(by_itself, "resizes.csv"), HasSubstr(",auto,1,1,2,"));
}

TEST_F(PipelineHarnessTest, OnAClusterSplitAutoSearchesOpenRequestsOnly) {
  const std::filesystem::path run = RunChecked(
      folder_, here_,
      Config("wait_ms = 10\nopen = 1\nopen_max = 3\ncredit_link = \"end-to-end\"\nparallel = 8\n"
             "split = \"auto\"\n",
             "",
             {kManyRequests, kClients, kAtOnce,
              "simulation.cluster.machines=[{ count=3, cores=1 }]"}));
  EXPECT_EQ(OpenAtTheEnd(run), 3);
  EXPECT_EQ(Read(run, "resizes.csv").find(",auto,"), std::string::npos);
}

TEST_F(PipelineHarnessTest, WhatCallsUseIsUsedAndNotWhatIsGranted) {
  const auto used = [this](const std::string& keys, const std::vector<std::string>& set) {
    const auto run = RunChecked(folder_, here_, Config(keys, "", set));
    return Summarize(run, {"strict"}).used_core_s.value_or(-1);
  };
  // 5 requests x 4 items x 3 stages x 10 ms of one core, however far apart they come.
  EXPECT_NEAR(used("work_ms = 10\n", {}), 0.6, 0.001);
  EXPECT_NEAR(used("work_ms = 10\n", {"trace.requests.0.gap.mean_s=0.5"}), 0.6, 0.001);
  EXPECT_NEAR(used("wait_ms = 10\nparallel = 8\n", {}), 0, 0.001);
}

TEST_F(PipelineHarnessTest, AProfileIsToKnowTheStages) {
  const auto refusal = [this] {
    try {
      Config("work_ms = 10\n");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(), "");
  profile_.programs[0].stages.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("the stages add1, add2"));
  profile_.programs[0].stages.clear();
  EXPECT_THAT(refusal(), HasSubstr("no stages"));
  profile_.programs.erase(profile_.programs.begin());
  EXPECT_THAT(refusal(), HasSubstr("holds no \"increment pipeline"));
}

}  // namespace
}  // namespace cosched
