// Workloads with command = […].

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/plan.h"
#include "experiments/config/workload_table.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class CommandConfigTest : public testing::Test {
 protected:
  ExperimentConfig LoadAll(const std::string& lines) {
    std::ofstream(file_) << "name = \"tiny\"\npolicies = [\"strict\"]\n[trace]\njobs = 2\n"
                            "[[workload]]\n"
                         << lines;
    return LoadConfig(file_, overrides_, topology_);
  }
  WorkloadConfig Load(const std::string& lines) { return LoadAll(lines).workloads.front(); }
  InputErrorDetails Refused(const std::string& line,
                            const std::string& command = "[\"sh\", \"-c\", \"true\"]") {
    try {
      Load("command = " + command + "\n" + line + "\n");
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "accepted: " << line;
    return {};
  }

  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "experiment.toml";
  std::vector<std::string> overrides_;
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
};

TEST_F(CommandConfigTest, EveryKeyIsRead) {
  std::filesystem::create_directory(folder_.path() / "programs");
  const WorkloadConfig workload = Load(
      "command = [\"python3\", \"-c\", \"pass\", \"{steps}\"]\n"
      "env = { A = \"x=y\", B = 3 }\ndir = \"programs\"\nprogress = \"output:step (\\\\d+)\"\n"
      "client = \"library\"\nsteps = 40\nbatch = 8\nthreads = 2\npriority = 1\n"
      "cores = { min = 1, preferred = 2, max = 3 }\n");
  const TenantSpec& spec = workload.spec;
  EXPECT_TRUE(spec.IsCommand());
  EXPECT_EQ(spec.command.arguments, (std::vector<std::string>{"python3", "-c", "pass", "{steps}"}));
  EXPECT_EQ(spec.command.environment, (std::vector<std::string>{"A=x=y", "B=3"}));
  EXPECT_EQ(spec.command.folder, std::filesystem::canonical(folder_.path() / "programs"));
  EXPECT_EQ(spec.command.progress, (ProgressSource{ProgressSource::Kind::kOutput, "step (\\d+)"}));
  EXPECT_EQ(spec.command.client, CommandClient::kLibrary);
  EXPECT_EQ(spec.steps, 40);
  EXPECT_EQ(spec.batch, 8);
  EXPECT_EQ(spec.model, "");
  EXPECT_EQ(workload.name, "python3");
  EXPECT_EQ(ProgramName(spec), "python3 -c pass {steps} (client library)");
}

TEST_F(CommandConfigTest, MountsAreAbsolute) {
  std::filesystem::create_directory(folder_.path() / "venv");
  const WorkloadConfig workload =
      Load("command = [\"sh\"]\nmounts = [\"venv/\", \"/etc/../etc/passwd\"]\n");
  EXPECT_EQ(workload.spec.command.mounts,
            (std::vector<std::string>{folder_.path() / "venv", "/etc/passwd"}));
  EXPECT_EQ(Refused("mounts = [\"nowhere\"]").problem,
            "there is no " + (folder_.path() / "nowhere").string());
  for (const char* none : {"\"/\"", "\"\"", "\"/..\""})
    EXPECT_EQ(Refused("mounts = [" + std::string(none) + "]").allowed, "files and folders below /");
}

TEST_F(CommandConfigTest, WhatIsLeftOutHasADefault) {
  const WorkloadConfig workload = Load("command = [\"sh\"]\n");
  EXPECT_EQ(workload.spec.steps, 0) << "not known";
  EXPECT_EQ(workload.spec.batch, 1);
  EXPECT_EQ(workload.spec.command.client, CommandClient::kNone);
  EXPECT_EQ(workload.spec.command.progress.kind, ProgressSource::Kind::kNone);
  EXPECT_EQ(workload.spec.command.folder, std::filesystem::canonical(folder_.path()));
  EXPECT_FALSE(Load("model = \"lenet5\"\n").spec.IsCommand());
}

// What the manifest says is a file again, as --resume and replay read it.
TEST_F(CommandConfigTest, TheManifestSaysTheSame) {
  const std::string lines =
      "command = [\"sh\", \"-c\", \"true\"]\nenv = { A = \"b\" }\nprogress = \"file:count\"\n"
      "mounts = [\".\"]\n";
  const WorkloadConfig workload = Load(lines);
  const nlohmann::ordered_json json = WorkloadSection().ToJson(workload);
  EXPECT_FALSE(json.contains("model"));
  EXPECT_FALSE(json.contains("mode"));
  EXPECT_FALSE(json.contains("steps"));
  nlohmann::ordered_json file = {{"workload", nlohmann::ordered_json::array({json})}};
  const TomlTable table = TomlTable::FromJson(folder_.path() / "manifest.json", file);
  const WorkloadConfig again = ReadWorkloads(table, {.cores = 4}).front();
  EXPECT_EQ(WorkloadSection().ToJson(again), json);
  EXPECT_EQ(again.spec.command.mounts, workload.spec.command.mounts);
  EXPECT_EQ(again.spec.command.mounts.size(), 1U);
}

TEST_F(CommandConfigTest, WhereNothingRunsNoProgramIsAskedFor) {
  const TomlTable table = TomlTable::FromJson(
      folder_.path() / "experiment.toml",
      {{"workload", {{{"command", {"no-such-program"}}, {"client", "library"}}}}});
  EXPECT_THROW(ReadWorkloads(table, {.cores = 4}), InputError);
  EXPECT_EQ(ReadWorkloads(table, {.cores = 4, .runs_programs = false}).front().name, "no-such-program");
}

TEST_F(CommandConfigTest, BadValuesAreRefusedWithTheirKeys) {
  EXPECT_EQ(Refused("progress = \"output:(\"").key, "workload.0.progress");
  EXPECT_EQ(Refused("progress = \"regions\"").key, "workload.0.progress");
  EXPECT_EQ(Refused("dir = \"nowhere\"").key, "workload.0.dir");
  EXPECT_EQ(Refused("env = { \"A=B\" = \"c\" }").problem, "is no name of a variable");
  EXPECT_EQ(Refused("client = \"on\"").allowed, "none, library, openmp");
  EXPECT_EQ(Refused("", "[]").problem, "names no program");
  EXPECT_EQ(Refused("", "[\"no-such-program\"]").problem, "there is no program no-such-program");
  EXPECT_EQ(Refused("", "[\"./no-such-program\"]").problem,
            "there is no program ./no-such-program");
}

TEST_F(CommandConfigTest, KeysOfCoschedsOwnProgramsAreRefused) {
  for (const char* line :
       {"model = \"lenet5\"", "mode = \"infer\"", "dataset = \"mnist\"", "inter = 2", "spin_us = 3",
        "split = \"auto\"", "precision = \"f32\"", "deterministic = true"})
    EXPECT_EQ(Refused(line).problem, "is of cosched's own programs") << line;
  try {
    Load("model = \"lenet5\"\nenv = { A = \"b\" }\n");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().problem, "is of programs of others");
  }
}

// Without a client nobody could change its threads.
TEST_F(CommandConfigTest, OneWithoutAClientIsNeverMalleable) {
  for (const auto& [client, elasticity] :
       {std::pair("none", Elasticity::kMoldable), std::pair("library", Elasticity::kMalleable)}) {
    const ExperimentConfig config =
        LoadAll("command = [\"sh\"]\nclient = \"" + std::string(client) + "\"\n");
    CellJobs jobs(config, Elasticity::kMalleable, 1);
    JobArrival arrival;
    arrival.workload = "sh";
    EXPECT_EQ(jobs.JobOf(arrival, 0).elasticity, elasticity) << client;
    CellJobs rigid(config, Elasticity::kRigid, 1);
    EXPECT_EQ(rigid.JobOf(arrival, 0).elasticity, Elasticity::kRigid);
  }
}

}  // namespace
}  // namespace cosched
