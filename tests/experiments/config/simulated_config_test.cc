// backend = "simulated" in an experiment file: what it needs, and what is refused.

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/experiment_json.h"
#include "experiments/config/machine_table.h"
#include "experiments/config/plan.h"
#include "experiments/config/sweep.h"
#include "experiments/launch/run_folder.h"
#include "tests/engine/base/xml_core_kinds.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class SimulatedConfigTest : public testing::Test {
 protected:
  SimulatedConfigTest() {
    Profile profile;
    ProgramProfile program;
    program.program = "lenet5 train batch 64";
    program.alone = {{1, {1, 1}, {0.4, 0.4, 0.4, 3}},
                     {2, {1, 2}, {0.2, 0.2, 0.2, 3}},
                     {1, {1, 2}, {0.5, 0.5, 0.5, 3}}};
    profile.programs = {program};
    profile.cores = 2;
    SaveProfile(profile, folder_.path() / "p.json");
  }

  ExperimentConfig Load(const std::vector<std::string>& overrides = {}) {
    WriteText(file_, R"(name = "s"
backend = "simulated"
policies = ["strict"]
elasticity = ["rigid", "malleable"]
machine = { topology = "pack:2 [numa] core:4 pu:2", profile = "p.json" }
simulation = { extrapolate = true }
[[workload]]
model = "lenet5"
batch = 64
cores = { preferred = 2 }
)");
    return LoadConfig(file_, overrides, here_);
  }
  InputErrorDetails Refused(const std::vector<std::string>& overrides) {
    try {
      Load(overrides);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "s.toml";
  const Topology here_ = Topology::Synthetic("pack:1 [numa] core:2 pu:1");
};

TEST_F(SimulatedConfigTest, TheMachineIsTheOneOfTheFile) {
  const ExperimentConfig config = Load();
  EXPECT_EQ(config.cores.ToString(), "0,2,4,6,8,10,12,14");
  EXPECT_EQ(config.topology->Cpus().Count(), 16);
  EXPECT_TRUE(config.simulation.contention);
  WriteText(folder_.path() / "m.xml", Topology::Synthetic("pack:1 core:3 pu:1").Xml());
  EXPECT_EQ(Load({"machine.topology=m.xml"}).cores, CpuSet::Range(0, 2));
  const Sweep sweep = LoadSweep(file_, {"sweep.machine.cores=[4, 8, 16]"}, false, here_);
  EXPECT_EQ(sweep.points.size(), 2U) << "8 cores are there, if not here";
  EXPECT_EQ(sweep.left_out.size(), 1U);
  const Sweep threads =
      LoadSweep(file_, {"sweep.machine.cores=[4, 8, 16]", "machine.smt=threads"}, false, here_);
  EXPECT_EQ(threads.points.size(), 3U);
}

TEST_F(SimulatedConfigTest, ACoreIsAPhysicalOneUnlessThreadsAreAskedFor) {
  const auto cores = [this](const std::vector<std::string>& overrides) {
    return Load(overrides).cores.ToString();
  };
  EXPECT_EQ(cores({"machine.cores=2"}), "0,2") << "close together";
  EXPECT_EQ(cores({"machine.cores='1,4,6'"}), "1,4,6") << "a list is taken as it is";
  EXPECT_EQ(cores({"machine.smt=threads"}), "0-15");
  EXPECT_EQ(cores({"machine.smt=threads", "machine.cores=3"}), "0-2");
  EXPECT_EQ(cores({"machine.smt=threads", "machine.cores='0-3'"}), "0-3");
  EXPECT_EQ(HardwareThreadsText(Load()), "8 cores (16 threads, one a core)");
  EXPECT_EQ(HardwareThreadsText(Load({"machine.smt=threads"})),
            "16 threads of 8 cores, each taken for a core");
  EXPECT_EQ(HardwareThreadsText(Load({"machine.topology=core:8 pu:1"})), "");
  const InputErrorDetails list = Refused({"machine.cores='0,4-6'"});
  EXPECT_EQ(list.key, "machine.cores");
  EXPECT_EQ(list.problem, "is \"0,4-6\", of which 4-5 are hardware threads of one core");
  EXPECT_EQ(list.allowed,
            "one thread of each core, such as \"0,4,6\", or machine.smt = \"threads\": each "
            "hardware thread is a core then");
  EXPECT_EQ(Refused({"machine.cores=9"}).problem,
            "is 9, but the 16 CPUs are hardware threads of 8 cores");
  EXPECT_EQ(Refused({"machine.cores=17"}).key, "machine.cores");
  EXPECT_EQ(Refused({"machine.smt=off"}).key, "machine.smt");
}

TEST_F(SimulatedConfigTest, TheManifestSaysWhatACoreIs) {
  const nlohmann::ordered_json machine = ExperimentJson(Load())["machine"];
  EXPECT_EQ(machine["smt"], "cores");
  EXPECT_EQ(machine["hardware_threads"], "8 cores (16 threads, one a core)");
  EXPECT_FALSE(ExperimentJson(Load({"machine.topology=core:8 pu:1"}))["machine"].contains(
      "hardware_threads"));
}

TEST_F(SimulatedConfigTest, CoresOfSeveralKindsAreToldAndTheFastestTakenFirst) {
  WriteText(folder_.path() / "m.xml", XmlWithCoreKinds(Topology::Synthetic("pack:1 core:6 pu:1"),
                                                       {{{0, 1, 2}, "CoreType", "IntelAtom"},
                                                        {{3, 4, 5}, "CoreType", "IntelCore"}}));
  const auto load = [this](const std::string& cores) {
    return Load({"machine.topology=m.xml", "machine.cores=" + cores});
  };
  EXPECT_EQ(load("2").cores.ToString(), "3-4");
  EXPECT_EQ(load("4").cores.ToString(), "0,3-5") << "all of the fastest, and what they lack";
  EXPECT_EQ(load("6").cores.ToString(), "0-5");
  EXPECT_EQ(ExperimentJson(load("4"))["machine"]["core_kinds"], "cores of 2 kinds: 3-5, slower 0");
  EXPECT_FALSE(ExperimentJson(load("3"))["machine"].contains("core_kinds"));
}

TEST_F(SimulatedConfigTest, WrongInputIsRefusedWithItsKey) {
  const InputErrorDetails profile = Refused({"machine.profile=none.json"});
  EXPECT_EQ(profile.key, "machine.profile");
  EXPECT_TRUE(profile.problem.starts_with((folder_.path() / "none.json").string()));
  EXPECT_EQ(Refused({"machine.topology=nonsense"}).key, "machine.topology");
  EXPECT_EQ(Refused({"machine.topology=p.xml"}).key, "machine.topology");
  EXPECT_EQ(Refused({"backend=hardware"}).key, "machine.topology");
  EXPECT_EQ(Refused({"sampling.interference=true"}).key, "sampling.interference");
  EXPECT_EQ(Refused({"simulation.contention=1"}).key, "simulation.contention");
  for (const char* charge : {"guessed", "'7us'", "'-7 us'", "' us'", "-7", "1000001"})
    EXPECT_EQ(Refused({std::string("simulation.charge_decisions=") + charge}).key,
              "simulation.charge_decisions")
        << charge;
  EXPECT_EQ(Refused({"simulation.noise=2"}).key, "simulation.noise");
  const InputErrorDetails details = Refused({"workload.lenet5.batch=32"});
  EXPECT_EQ(details.key, "workload.lenet5.model");
  EXPECT_NE(details.problem.find("lenet5 train batch 32"), std::string::npos) << details.problem;
  EXPECT_EQ(details.allowed, "lenet5 train batch 64");
}

TEST_F(SimulatedConfigTest, PoliciesSeeTheProfilesSpeeds) {
  const ExperimentConfig config = Load();
  JobArrival arrival;
  arrival.workload = "lenet5";
  const Job malleable = CellJobs(config, Elasticity::kMalleable, 1).JobOf(arrival, 0);
  ASSERT_NE(malleable.speed, nullptr);
  EXPECT_DOUBLE_EQ(malleable.speed->At(1), 2.5);
  EXPECT_DOUBLE_EQ(malleable.speed->At(2), 5);
  EXPECT_EQ(malleable.speed->Size(), 8);
  const Job rigid = CellJobs(config, Elasticity::kRigid, 1).JobOf(arrival, 0);
  EXPECT_DOUBLE_EQ(rigid.speed->At(1), 2) << "two threads on one core, as measured";
  EXPECT_DOUBLE_EQ(rigid.speed->At(8), 5) << "two threads use two cores";
}

TEST_F(SimulatedConfigTest, TheManifestSaysWhatWasOn) {
  const std::string text = ExperimentJson(Load({"simulation.contention=false"})).dump(2);
  for (const char* part : {"\"contention\": false", "\"resize_delay\": true", "fnv1a", "p.json",
                           "2 packages, 2 NUMA nodes"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

}  // namespace
}  // namespace cosched
