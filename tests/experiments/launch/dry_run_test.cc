// --dry-run tells wholly what a file resolves to, and reads back as that file.

#include "experiments/launch/dry_run.h"

#include <gtest/gtest.h>

#include "experiments/config/experiment_json.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

constexpr const char* kDryRunFile = R"(name = "d"
policies = ["strict", "equal-share"]
trials = 2
[machine]
topology = "core:4 pu:1"
[[workload]]
name = "net"
model = "lenet5"
steps = 7
[[workload]]
name = "service"
model = "lenet5"
mode = "serve"
[trace]
jobs = 2
gap = { distribution = "fixed", mean_s = 1 }
[[trace.requests]]
count = 3
)";

class DryRunTest : public testing::Test {
 protected:
  Sweep Load(const std::vector<std::string>& overrides) {
    WriteText(folder_.path() / "d.toml", kDryRunFile);
    ProgramProfile program;
    program.alone = {{1, {1, 1}, {0.4, 0.4, 0.4, 3}}};
    Profile profile;
    for (const char* name : {"lenet5 train batch 32", "lenet5 infer batch 32"}) {
      program.program = name;
      profile.programs.push_back(program);
    }
    SaveProfile(profile, folder_.path() / "p.json");
    std::vector<std::string> all = {"backend=simulated", "machine.profile=p.json"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return LoadSweep(folder_.path() / "d.toml", all, false, Topology::ThisMachine());
  }

  const TemporaryFolder folder_;
};

TEST_F(DryRunTest, DefaultsAreMarkedAndWhatIsGivenIsNot) {
  const std::string text =
      DryRunText(Load({"workload.net.cores={ min = 1, preferred = 1, max = 1 }"}));
  const auto line = [&text](const std::string& start) {
    const size_t at = text.find("\n" + start);
    return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  EXPECT_EQ(line("trials = "), "trials = 2");
  EXPECT_EQ(line("steps = 7"), "steps = 7");
  EXPECT_TRUE(line("batch = ").starts_with("batch = 32 ")) << line("batch = ");
  EXPECT_TRUE(line("batch = ").ends_with("# default")) << line("batch = ");
  EXPECT_EQ(line("# threads: "), "# threads: its preferred cores");
  // 4 cells of two jobs that take 7 steps of 0.4 s on one core, the second a second later.
  EXPECT_NE(line("time: ").find("15 s are simulated, at least, by the profile, if"),
            std::string::npos)
      << line("time: ");
  EXPECT_TRUE(line("disk: ").starts_with("disk: about ")) << line("disk: ");
  EXPECT_NE(text.find("\ntrial 2: "), std::string::npos);
}

TEST_F(DryRunTest, TheKeysAreAFileOfTheSameExperiment) {
  const Sweep sweep = Load(
      {"workload.net.cores={ min = 1, preferred = 2, max = 3 }", "simulation.charge_decisions=7",
       "trials=until makespan ± 2 %",
       "gate=[{ metric = 'makespan', policy = 'equal-share', against = 'strict', max = 1.5 }]"});
  const std::string text = DryRunText(sweep);
  WriteText(folder_.path() / "again.toml", text.substr(0, text.find("\nd: ")));
  const Sweep again = LoadSweep(folder_.path() / "again.toml", {}, false, Topology::ThisMachine());
  nlohmann::ordered_json before = ExperimentJson(sweep.points.front().config);
  nlohmann::ordered_json after = ExperimentJson(again.points.front().config);
  EXPECT_EQ(before["policy"].dump(), "{}");
  EXPECT_EQ(after["policy"].dump(), R"({"strict":{"order":"fcfs"}})") << "the default, written";
  before.erase("policy");
  after.erase("policy");
  EXPECT_EQ(before.dump(2), after.dump(2)) << text;
}

// A policy's parameters are kept, and printed, as text.
TEST_F(DryRunTest, PoliciesParametersReadBack) {
  const Sweep sweep = Load({"policies=[\"round-robin\"]", "policy.round-robin.quantum_ms=250"});
  WriteText(folder_.path() / "again.toml",
            DryRunText(sweep).substr(0, DryRunText(sweep).find("\nd: ")));
  const Sweep again = LoadSweep(folder_.path() / "again.toml", {}, false, Topology::ThisMachine());
  EXPECT_EQ(again.points.front().config.policy_parameters.at("round-robin").at("quantum_ms"),
            "250");
}

TEST_F(DryRunTest, APolicyFromOutsideOfTheTreeReadsBack) {
  const Sweep sweep = Load(
      {"policies=[\"mine\"]", "policy.mine.exec='python3 newest_first.py'", "policy.mine.most=7",
       "policy.mine.directory='" + InSource("experiments/examples/policy_exec") + "'"});
  WriteText(folder_.path() / "again.toml",
            DryRunText(sweep).substr(0, DryRunText(sweep).find("\nd: ")));
  const Sweep again = LoadSweep(folder_.path() / "again.toml", {}, false, Topology::ThisMachine());
  const ExperimentConfig& config = again.points.front().config;
  EXPECT_EQ(config.external_policies.at("mine")->command, "python3 newest_first.py");
  EXPECT_EQ(config.policy_parameters.at("mine").at("most"), "7");
}

// Without a profile; what is known is when the last request is sent, 3 s after the first.
TEST_F(DryRunTest, OfServicesTheTimeOfTheLastRequestIsKnown) {
  WriteText(folder_.path() / "s.toml", R"(name = "s"
policies = ["strict"]
trials = 2
[[workload]]
name = "service"
model = "lenet5"
mode = "serve"
[[trace.requests]]
phases = [{ for_s = 3, rate = 1 }]
gap = { distribution = "fixed" }
)");
  const std::string text =
      DryRunText(LoadSweep(folder_.path() / "s.toml", {}, false, Topology::ThisMachine()));
  EXPECT_NE(text.find("\ntime: at least 6 s, if no core ever waits\n"), std::string::npos) << text;
}

TEST_F(DryRunTest, ASweepTellsItsPoints) {
  const std::string text =
      DryRunText(Load({"sweep.workload.net.batch=[32]", "sweep.trials=[1,2]"}));
  EXPECT_TRUE(text.starts_with("# d at trials=1,batch=32, the first of 2 points\n")) << text;
  EXPECT_NE(text.find("\n  trials=2,batch=32\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace cosched
