// backend = "slurm": what an allocation must have, and what an experiment can't have there. Slurm is
// a script that tells the names of nodes.

#include <gtest/gtest.h>
#include <stdlib.h>

#include "engine/base/error.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/not_here_error.h"
#include "experiments/hosts/slurm_allocation.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

// NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs.
class SlurmConfigTest : public testing::Test {
 protected:
  SlurmConfigTest() {
    WriteText(file_, R"(name = "x"
backend = "slurm"
policies = ["static-shares"]
[machine]
nodes = 2
actuator = "affinity"
kernel_rates = "fixed"
[[workload]]
model = "lenet5"
)");
    path_ = getenv("PATH");
    setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
    setenv("SLURM_JOB_ID", "17", 1);
    setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
    Scontrol(
        "[ \"$*\" = 'show hostnames' ] && [ \"$SLURM_JOB_NODELIST\" = 'n[1-2]' ] || exit 1\n"
        "echo n1\necho n2");
  }
  ~SlurmConfigTest() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JOB_NODELIST");
  }

  void Scontrol(const std::string& does) {
    const std::filesystem::path script = folder_.path() / "scontrol";
    WriteText(script, "#!/bin/sh\n" + does + "\n");
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  }
  ExperimentConfig Load(const std::vector<std::string>& overrides = {}) {
    return LoadConfig(file_, overrides, topology_);
  }
  InputErrorDetails Refused(const std::vector<std::string>& overrides = {}) {
    try {
      Load(overrides);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "x.toml";
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
  std::string path_;
};

TEST_F(SlurmConfigTest, NodesAreThoseOfTheJob) {
  const ExperimentConfig config = Load();
  EXPECT_EQ(config.backend, Backend::kSlurm);
  EXPECT_EQ(NodesOfAllocation(), (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(Load({"machine.nodes=1"}).nodes, 1) << "it need not use all of them";
}

TEST_F(SlurmConfigTest, OutsideOfAJobItIsRefused) {
  for (const char* variable : {"SLURM_JOB_NODELIST", "SLURM_JOB_ID"}) {
    unsetenv(variable);
    const InputErrorDetails refused = Refused();
    EXPECT_EQ(refused.key, "backend");
    EXPECT_EQ(refused.line, 2);
    EXPECT_NE(refused.problem.find(variable), std::string::npos) << refused.problem;
  }
  EXPECT_EQ(Load({"backend=hardware", "policies=['strict']"}).backend, Backend::kHardware);
  EXPECT_THROW(Load(), NotHereError);  // Another machine could.
}

TEST_F(SlurmConfigTest, AJobWithFewerNodesIsRefused) {
  const InputErrorDetails refused = Refused({"machine.nodes=4"});
  EXPECT_EQ(refused.key, "machine.nodes");
  EXPECT_EQ(refused.problem, "is 4, but this Slurm job has 2");
}

TEST_F(SlurmConfigTest, WhatSlurmSaysIsTold) {
  Scontrol("echo 'slurm_load_node: Unable to contact slurm controller' >&2; exit 1");
  const InputErrorDetails refused = Refused();
  EXPECT_EQ(refused.key, "backend");
  EXPECT_NE(refused.problem.find("Unable to contact"), std::string::npos) << refused.problem;
}

// NOLINTEND(concurrency-mt-unsafe)

// Policies of whole cores know nothing of nodes.
TEST_F(SlurmConfigTest, AJobThatMayNotFitANodeIsRefused) {
  const InputErrorDetails refused = Refused({"policies=['strict']"});
  EXPECT_EQ(refused.key, "workload.lenet5.cores.max");
  EXPECT_EQ(refused.problem, "strict may give it 4 cores, but a node has 2");
  EXPECT_NO_THROW(Load({"policies=['strict']", "workload.lenet5.cores={ min = 1, max = 2 }"}));
  EXPECT_NO_THROW(Load({"policies=['strict']", "machine.nodes=1"}));
}

TEST_F(SlurmConfigTest, DevicesAreRefused) {
  const std::string profile = InSource("experiments/profiles/device_example.json");
  WriteText(file_, ReadText(file_) +
                       "[[workload]]\nname = \"net\"\nmodel = \"resnet50\"\nmode = "
                       "\"serve\"\nbatch = 1\n[[device]]\nname = \"d\"\nprofile = \"" +
                       profile + "\"\n[[trace.requests]]\nservice = \"net\"\ncount = 1\n");
  const InputErrorDetails refused = Refused();
  EXPECT_EQ(refused.key, "device.d.name");
  EXPECT_NE(refused.allowed.find("no [[device]]"), std::string::npos);
}

}  // namespace
}  // namespace cosched
