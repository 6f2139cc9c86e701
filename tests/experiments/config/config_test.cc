// The experiment file: defaults, overrides, and that every wrong input is one error that names
// file, line, key and what is allowed.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "engine/kernels/kernel.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/figure_table.h"
#include "experiments/config/generator_table.h"
#include "experiments/config/not_here_error.h"
#include "experiments/config/sweep.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

constexpr const char* kMinimal = R"(name = "tiny"
policies = ["strict"]
[[workload]]
model = "lenet5"
)";

class ConfigTest : public testing::Test {
 protected:
  ExperimentConfig Load(const std::string& text, const std::vector<std::string>& overrides = {}) {
    std::ofstream(file_, std::ios::binary) << text;
    return LoadConfig(file_, overrides, topology_);
  }

  InputErrorDetails Refused(const std::string& text,
                            const std::vector<std::string>& overrides = {}) {
    try {
      Load(text, overrides);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "accepted:\n" << text;
    return {};
  }

  // The error of one line put after the minimal file's second one.
  InputErrorDetails RefusedLine(const std::string& line) {
    return Refused(std::string("name = \"tiny\"\npolicies = [\"strict\"]\n") + line +
                   "\n[[workload]]\nmodel = \"lenet5\"\n");
  }

  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "experiment.toml";
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
};

TEST_F(ConfigTest, DefaultsAreThoseOfTheHeader) {
  const ExperimentConfig config = Load(kMinimal);
  EXPECT_EQ(config.name, "tiny");
  EXPECT_EQ(config.trials, 3);
  EXPECT_EQ(config.seed, 1U);
  EXPECT_EQ(config.elasticities, std::vector<Elasticity>{Elasticity::kMalleable});
  EXPECT_EQ(config.cores, CpuSet::Range(0, 3));
  EXPECT_EQ(config.actuator, Actuator::kAffinity);  // Nothing else for a machine not here.
  EXPECT_EQ(config.sample_period, std::chrono::milliseconds(100));
  EXPECT_EQ(config.trace.jobs, 6);
  ASSERT_EQ(config.workloads.size(), 1U);
  EXPECT_EQ(config.workloads[0].name, "lenet5");
  EXPECT_EQ(config.workloads[0].cores, (CoreRequest{1, 4, 4}));
}

TEST_F(ConfigTest, ReadsEveryKeyOfTheIssue) {
  const ExperimentConfig config = Load(R"(name = "all"
backend = "hardware"
trials = 2
seed = 9
policies = ["no-control", "max-prop"]
elasticity = ["rigid", "moldable", "malleable"]
[machine]
cores = "1-2"
[sampling]
period_ms = 20
interference = true
[trace]
jobs = 5
gap = { distribution = "fixed", mean_s = 1 }
[[workload]]
name = "big"
model = "resnet20"
mode = "infer"
dataset = "procedural"
batch = 8
steps = 40
cores = { min = 1, preferred = 2, max = 2 }
threads = 8
inter = 2
split = "auto"
priority = -3
weight = 0.5
[policy.max-prop]
order = "priority"
)");
  EXPECT_EQ(config.cores, CpuSet::Range(1, 2));
  EXPECT_EQ(config.sample_period, std::chrono::milliseconds(20));
  EXPECT_TRUE(config.interference);
  EXPECT_EQ(config.trace.gap.kind, Distribution::Kind::kFixed);
  EXPECT_EQ(config.trace.gap.mean, 1.0);
  const WorkloadConfig& workload = config.workloads.at(0);
  EXPECT_EQ(workload.spec.model, "resnet20");
  EXPECT_EQ(workload.spec.mode, Mode::kInfer);
  EXPECT_EQ(workload.spec.batch, 8);
  EXPECT_EQ(workload.spec.steps, 40);
  EXPECT_EQ(workload.threads, 8);
  EXPECT_EQ(workload.inter, 2);
  EXPECT_TRUE(workload.spec.auto_split);
  EXPECT_EQ(workload.priority, -3);
  EXPECT_EQ(config.policy_parameters.at("max-prop").at("order"), "priority");
}

TEST_F(ConfigTest, MissingFile) {
  try {
    LoadConfig("/nonexistent/experiment.toml", {}, topology_);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().file, "/nonexistent/experiment.toml");
    EXPECT_NE(error.details().problem.find("No such file"), std::string::npos);
  }
  EXPECT_THROW(LoadConfig(folder_.path(), {}, topology_), InputError);
}

TEST_F(ConfigTest, EachWrongLineIsNamedWithItsKeyAndWhatIsAllowed) {
  struct Case {
    const char* line;
    const char* key;
    const char* allowed;
  };
  for (const Case& bad : std::initializer_list<Case>{
           {"color = 1", "color", "policies"},
           {"trials = 0", "trials", "from 1"},
           {"trials = 1.5", "trials", "integer"},
           {"trials = \"3\"", "trials", "integer"},
           {"seed = -1", "seed", "from 0"},
           {"elasticity = []", "elasticity", "malleable"},
           {"elasticity = [\"soft\"]", "elasticity.0", "moldable"},
           {"elasticity = [\"rigid\", \"rigid\"]", "elasticity.1", "once"},
           {"elasticity = \"rigid\"", "elasticity", "list"},
           {"machine = { core = \"0\" }", "machine.core", "cores"},
           {"machine = { cores = \"0-9\" }", "machine.cores", "0-3"},
           {"machine = { cores = \"\" }", "machine.cores", "0-3"},
           {"machine = { cores = 5 }", "machine.cores", "from 1 to 4"},
           {"machine = { cores = 2.5 }", "machine.cores", "string"},
           {"machine = { actuator = \"magic\" }", "machine.actuator", "cpuset, quota, affinity"},
           {"machine = { kernel_rates = \"fast\" }", "machine.kernel_rates", "measured, fixed, or"},
           {"machine = { kernel_rates = 2 }", "machine.kernel_rates", "string"},
           {"machine = 2", "machine", "table"},
           {"container = { client = \"maybe\" }", "container.client", "on, off, halving"},
           {"container = { actuation = \"fast\" }", "container.actuation", "direct, runtime"},
           {"container = { cores = 2 }", "container.cores", "client"},
           {"backend = \"cloud\"", "backend", "hardware, container"},
           {"sampling = { period_ms = 0 }", "sampling.period_ms", "from 1"},
           {"sampling = { interference = 1 }", "sampling.interference", "true or false"},
           {"trace = { jobs = 0 }", "trace.jobs", "from 1"},
           {"trace = { gap = { mean_s = -2.0 } }", "trace.gap.mean_s", "from 0"},
           {"trace = { gap = { sd_s = -0.5 } }", "trace.gap.sd_s", "from 0"},
           {"trace = { gap = { mean_s = nan } }", "trace.gap.mean_s", "number"},
           {"trace = { gap = { distribution = \"zipf\" } }", "trace.gap.distribution",
            "exponential"},
           {"trace = { gap = { distribution = \"fixed\", sd_s = 1 } }", "trace.gap.sd_s", "normal"},
           {"trace = { gap = { distribution = \"gamma\" } }", "trace.gap.cv", "from 0.01"},
           {"trace = { gap = { cv = 2 } }", "trace.gap.cv", "gamma"},
           {"trace = { gap = { distribution = \"pareto\", shape = 1 } }", "trace.gap.shape",
            "1.01"},
           {"trace = { jobs = 2, file = \"x.csv\" }", "trace.jobs", "file"},
           {"policy = { lottery = {} }", "policy.lottery", "strict"},
           {"policy = { max-prop = { order = \"lifo\" } }", "policy.max-prop.order", "fcfs"},
           {"policy = { max-prop = { odor = \"fcfs\" } }", "policy.max-prop.odor", "order"},
           {"policy = { max-prop = { order = [] } }", "policy.max-prop.order", "string"},
       }) {
    const InputErrorDetails error = RefusedLine(bad.line);
    EXPECT_EQ(error.file, file_.string()) << bad.line;
    EXPECT_EQ(error.line, 3) << bad.line;
    EXPECT_EQ(error.key, bad.key) << bad.line;
    EXPECT_NE(error.allowed.find(bad.allowed), std::string::npos)
        << bad.line << ": " << error.allowed;
  }
}

TEST_F(ConfigTest, EachWrongWorkloadLineIsNamed) {
  const std::string kWorkload = "workload.lenet5.";
  struct Case {
    const char* line;
    const char* key;
  };
  for (const Case& bad : std::initializer_list<Case>{
           {"stride = 2", "stride"},
           {"name = \"a/b\"", "name"},
           {"name = \"\"", "name"},
           {"mode = \"server\"", "mode"},
           {"dataset = \"imagenet\"", "dataset"},
           {"dataset = \"mnist\"", "data"},
           {"batch = 0", "batch"},
           {"split = \"2x2\"", "split"},
           {"spin_us = -1", "spin_us"},
           {"spin_us = 100001", "spin_us"},
           {"spin_us = 1.5", "spin_us"},
           {"precision = \"fp16\"", "precision"},
           {"precision = 16", "precision"},
           {"deterministic = 1", "deterministic"},
           {"steps = 0", "steps"},
           {"weight = -1", "weight"},
           {"weight = 0", ""},
           {"priority = \"high\"", "priority"},
           {"cores = 2", "cores"},
           {"cores = { most = 2 }", "cores.most"},
           {"cores = { min = 0 }", "cores.min"},
           {"cores = { max = 5 }", "cores.max"},
           {"cores = { preferred = 5 }", "cores.preferred"},
           {"cores = { min = 5 }", "cores.min"},
           {"cores = { min = 3, preferred = 2, max = 2 }", "cores.min"},
           {"cores = { min = 1, preferred = 3, max = 2 }", "cores.preferred"},
       }) {
    const InputErrorDetails error = Refused(std::string(kMinimal) + bad.line + "\n");
    // A name that can't be one does not name its table.
    const std::string table = std::string_view(bad.key) == "name" ? "workload.0." : kWorkload;
    EXPECT_EQ(error.key, *bad.key ? table + bad.key : "workload") << bad.line;
    const bool at_its_line = *bad.key && std::string_view(bad.key) != "data";
    EXPECT_TRUE(error.line == 5 || !at_its_line) << bad.line;
    EXPECT_FALSE(error.allowed.empty()) << bad.line;
  }
}

TEST_F(ConfigTest, QuotedKeysWithDotsAreRefusedWhereverKeysAreFree) {
  EXPECT_EQ(Refused(std::string("name = \"tiny\"\npolicies = [\"strict\"]\n") +
                    "[policy.strict]\n\"a.b\" = 1\n[[workload]]\nmodel = \"lenet5\"\n")
                .problem,
            "holds the quoted key \"a.b\"");
  EXPECT_EQ(Refused(std::string("name = \"tiny\"\npolicies = [\"strict\"]\n[[workload]]\n") +
                    "name = \"w\"\ncommand = [\"x\"]\nsteps = 1\nenv = { \"log.level\" = \"1\" }\n")
                .problem,
            "holds the quoted key \"log.level\"");
}

TEST_F(ConfigTest, AFileThatIsNamedAloneIsInTheFolderOfTheProcess) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  std::ofstream("bare.toml") << "name = \"tiny\"\npolicies = [\"strict\"]\n[[workload]]\n"
                             << "command = [\"sh\", \"-c\", \"true\"]\n";
  EXPECT_EQ(LoadConfig("bare.toml", {}, topology_).workloads[0].spec.command.folder,
            std::filesystem::canonical(folder_.path()));
  std::filesystem::current_path(before);
}

TEST_F(ConfigTest, AnEmptyPathIsRefusedAlsoWhereTheFileHasNoFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  std::ofstream("bare.toml") << kMinimal;
  try {
    LoadConfig("bare.toml", {"machine.profile="}, topology_);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().key, "machine.profile");
    EXPECT_EQ(error.details().problem, "is empty");
  }
  std::filesystem::current_path(before);
}

// By this `cosched reproduce` tells a figure that this machine can't draw from one that is wrong.
TEST_F(ConfigTest, CoresThatAnotherMachineMayHaveAreThisOnesLack) {
  const Topology here = Topology::ThisMachine();
  const std::string minimal = kMinimal;
  enum class Fault { kFile, kMachine, kNone };
  const auto fault = [this](const Topology& machine, const std::string& text,
                            const std::vector<std::string>& more = {}) {
    std::ofstream(file_, std::ios::binary) << text;
    try {
      LoadConfig(file_, more, machine);
    } catch (const NotHereError&) {
      return Fault::kMachine;
    } catch (const InputError&) {
      return Fault::kFile;
    }
    return Fault::kNone;
  };
  for (const char* cores : {"{ max = 4096 }", "{ preferred = 4096 }", "{ min = 4096 }"}) {
    const std::string text = minimal + "cores = " + cores + "\n";
    EXPECT_EQ(fault(here, text), Fault::kMachine) << cores;
    EXPECT_EQ(fault(topology_, text), Fault::kFile) << cores << " of a machine that is described";
  }
  for (const char* cores : {"{ min = 0 }", "{ min = 3, max = 2 }", "{ most = 2 }"})
    EXPECT_EQ(fault(here, minimal + "cores = " + cores + "\n"), Fault::kFile) << cores;
  for (const char* cores : {"machine.cores=1000000", "machine.cores='4000'"}) {
    EXPECT_EQ(fault(here, minimal, {cores}), Fault::kMachine) << cores;
    EXPECT_EQ(fault(topology_, minimal, {cores}), Fault::kFile) << cores;
  }
  EXPECT_EQ(fault(here, minimal, {"machine.cores=0"}), Fault::kFile);
}

TEST_F(ConfigTest, ThreadsLookForWorkAsLongAsTheyAreTold) {
  const std::string minimal = kMinimal;
  const auto spin = [](const ExperimentConfig& config) { return config.workloads.at(0).spec.spin; };
  EXPECT_EQ(spin(Load(minimal)), kSpin);
  EXPECT_EQ(spin(Load(minimal + "spin_us = 0\n")), Duration(0));
  EXPECT_EQ(spin(Load(minimal + "spin_us = 200\n")), std::chrono::microseconds(200));
}

TEST_F(ConfigTest, PrecisionIsFloatsOrWhatTheCpuHas) {
  const std::string minimal = kMinimal;
  const auto precision = [](const ExperimentConfig& config) {
    return config.workloads.at(0).spec.precision;
  };
  EXPECT_EQ(precision(Load(minimal)), Precision::kFloat);
  EXPECT_EQ(precision(Load(minimal + "precision = \"f32\"\n")), Precision::kFloat);
  if (CpuHasBFloat16()) {
    EXPECT_EQ(precision(Load(minimal + "precision = \"bf16\"\n")), Precision::kBFloat16);
  } else {
    const InputErrorDetails lacking = Refused(minimal + "precision = \"bf16\"\n");
    EXPECT_EQ(lacking.key, "workload.lenet5.precision");
    EXPECT_NE(lacking.problem.find("this CPU has no instructions"), std::string::npos);
    EXPECT_EQ(lacking.allowed, "f32");
  }
  const InputErrorDetails unknown = Refused(minimal + "precision = \"fp16\"\n");
  EXPECT_EQ(unknown.problem, "is \"fp16\"");
  EXPECT_EQ(unknown.allowed, "f32, bf16");
}

TEST_F(ConfigTest, WorkIsDividedForTheMostThreadsUnlessToldOtherwise) {
  const std::string minimal = kMinimal;
  EXPECT_TRUE(Load(minimal).workloads.at(0).spec.deterministic);
  EXPECT_FALSE(Load(minimal + "deterministic = false\n").workloads.at(0).spec.deterministic);
  const InputErrorDetails both = Refused(minimal + "split = \"auto\"\ndeterministic = false\n");
  EXPECT_EQ(both.key, "workload.lenet5.deterministic");
}

TEST_F(ConfigTest, ServicesComputeInBFloat16WhereTheCpuCan) {
  const std::string text = std::string(kMinimal) +
                           "mode = \"serve\"\nprecision = \"bf16\"\n[trace]\n"
                           "[[trace.requests]]\ncount = 5\n"
                           "gap = { distribution = \"fixed\", mean_s = 1 }\n";
  if (CpuHasBFloat16()) {
    EXPECT_EQ(Load(text).workloads.at(0).spec.precision, Precision::kBFloat16);
  } else {
    EXPECT_EQ(Refused(text).key, "workload.lenet5.precision");
  }
}

TEST_F(ConfigTest, APolicyThatGoesBySpeedNeedsAProfile) {
  const InputErrorDetails sized =
      Refused("name = \"x\"\npolicies = [\"sjf\"]\n[[workload]]\nmodel = \"lenet5\"\n");
  EXPECT_EQ(sized.key, "policies.0");
  EXPECT_NE(sized.allowed.find("machine.profile"), std::string::npos);
}

TEST_F(ConfigTest, UnknownNamesTellTheKnownOnes) {
  const InputErrorDetails policy = Refused(
      "name = \"x\"\npolicies = [\"strict\", \"lottery\"]\n[[workload]]\nmodel = \"lenet5\"\n");
  EXPECT_EQ(policy.key, "policies.1");
  EXPECT_EQ(policy.line, 2);
  EXPECT_NE(policy.allowed.find("always-attend"), std::string::npos);
  const InputErrorDetails model =
      Refused("name = \"x\"\npolicies = [\"strict\"]\n[[workload]]\nmodel = \"vgg\"\n");
  EXPECT_EQ(model.key, "workload.vgg.model");
  EXPECT_EQ(model.line, 4);
  EXPECT_NE(model.allowed.find("resnet20"), std::string::npos);
}

TEST_F(ConfigTest, WhatMustBeThere) {
  EXPECT_EQ(Refused("policies = [\"strict\"]\n").key, "name");
  EXPECT_EQ(Refused("name = \"x\"\n").key, "policies");
  EXPECT_EQ(Refused("name = \"x\"\npolicies = []\n").key, "policies");
  EXPECT_EQ(Refused("name = \"x\"\npolicies = [\"strict\"]\n").key, "workload");
  EXPECT_EQ(Refused("name = \"x\"\npolicies = [\"strict\"]\nworkload = []\n").key, "workload");
  EXPECT_EQ(Refused("name = \"x\"\npolicies = [\"strict\"]\n[[workload]]\n").key,
            "workload.0.model");
  EXPECT_EQ(Refused("name = \"x\"\npolicies = [\"strict\", \"strict\"]\n").key, "policies.1");
  EXPECT_EQ(Refused(std::string(kMinimal) + "[[workload]]\nmodel = \"lenet5\"\n").key,
            "workload.1.name");
}

TEST_F(ConfigTest, NotToml) {
  const InputErrorDetails error = Refused("name = \"x\"\npolicies = [\n[[workload\n");
  EXPECT_GT(error.line, 1);
  EXPECT_NE(error.problem.find("TOML"), std::string::npos);
}

TEST_F(ConfigTest, OverridesReachEveryKeyByIndexAndByName) {
  const ExperimentConfig config =
      Load(kMinimal, {"trials=1", "trace.jobs=4", "trace.gap.distribution=exponential",
                      "trace.gap.mean_s=0.5", "workload.0.batch=7", "workload.lenet5.steps=10",
                      "policy.max-prop.order=priority", "elasticity=['rigid']", "name=other"});
  EXPECT_EQ(config.trials, 1);
  EXPECT_EQ(config.trace.jobs, 4);
  EXPECT_EQ(config.trace.gap.kind, Distribution::Kind::kExponential);
  const ExperimentConfig weibull =
      Load(kMinimal, {"trace.gap.distribution=weibull", "trace.gap.shape=0.5"});
  EXPECT_EQ(weibull.trace.gap.kind, Distribution::Kind::kWeibull);
  EXPECT_EQ(weibull.trace.gap.shape, 0.5);
  EXPECT_EQ(config.workloads[0].spec.batch, 7);
  EXPECT_EQ(config.workloads[0].spec.steps, 10);
  EXPECT_EQ(config.policy_parameters.at("max-prop").at("order"), "priority");
  EXPECT_EQ(config.elasticities[0], Elasticity::kRigid);
  EXPECT_EQ(config.name, "other");
}

TEST_F(ConfigTest, WrongOverridesAreBlamedOnTheCommandLine) {
  for (const auto& [text, key] : std::initializer_list<std::pair<const char*, const char*>>{
           {"trials=0", "trials"},
           {"trials=", "trials"},
           {"trials", "trials"},
           {"color=1", "color"},
           {"trace.color=1", "trace.color"},
           {"trace..jobs=1", "trace..jobs"},
           {"workload.7.steps=1", "workload.7.steps"},
           {"workload.vgg.steps=1", "workload.vgg.steps"},
           {"workload.lenet5.steps=0", "workload.lenet5.steps"},
           {"workload.0.steps=0", "workload.lenet5.steps"},
           {"name.first=1", "name.first"},
           {"=1", ""},
       }) {
    const InputErrorDetails error = Refused(kMinimal, {text});
    EXPECT_EQ(error.file, "command line") << text;
    EXPECT_EQ(error.key, key) << text;
    EXPECT_FALSE(error.allowed.empty()) << text;
  }
}

TEST_F(ConfigTest, TraceFilesAreRelativeToTheExperimentAndCheckedAgainstIt) {
  const auto with_trace = [this](const std::string& rows) {
    std::ofstream(folder_.path() / "trace.csv") << "arrival_s,workload,cores_min,cores_max\n"
                                                << rows;
    return "name = \"x\"\npolicies = [\"strict\"]\ntrace.file = \"trace.csv\"\n[[workload]]\nmodel "
           "= \"lenet5\"\n"
           "cores = { min = 1, preferred = 2, max = 2 }\n";
  };
  const ExperimentConfig config = Load(with_trace("1,lenet5,,\n2,lenet5,2,4\n"));
  ASSERT_TRUE(config.trace.replay.has_value());
  EXPECT_EQ(config.trace.jobs, 2);
  EXPECT_EQ(RequestOf(config.workloads[0], (*config.trace.replay)[1]), (CoreRequest{2, 2, 4}));

  EXPECT_EQ(Refused(with_trace("0,vgg,,\n")).key, "workload");
  EXPECT_EQ(Refused(with_trace("0,lenet5,,\n1,lenet5,3,\n")).key, "cores_min");
  EXPECT_EQ(Refused(with_trace("0,lenet5,,9\n")).key, "cores_max");
  const InputErrorDetails malformed = Refused(with_trace("0,lenet5,,\nsoon,lenet5,,\n"));
  EXPECT_EQ(malformed.file, (folder_.path() / "trace.csv").string());
  EXPECT_EQ(malformed.line, 3);
  const auto header = [&](const std::string& text) {
    const std::string experiment = with_trace("");
    std::ofstream(folder_.path() / "trace.csv") << text;
    return Refused(experiment).key;
  };
  EXPECT_EQ(header("arrival_s,workload,color\n0,lenet5,red\n"), "color");
  EXPECT_EQ(header("arrival_s,steps\n0,1\n"), "workload");
  std::filesystem::remove(folder_.path() / "trace.csv");
  EXPECT_NE(Refused("name = \"x\"\npolicies = [\"strict\"]\ntrace.file = "
                    "\"trace.csv\"\n[[workload]]\nmodel = \"lenet5\"\n")
                .problem.find("No such file"),
            std::string::npos);
}

// The smoke tier's question: every experiment file in the tree loads.
TEST(ExperimentFiles, EveryOneInTheTreeLoads) {
  const Topology big = Topology::Synthetic("pack:2 [numa] l3:1 core:8 pu:1");
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(InSource("experiments"))) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    if (TomlTable::Load(entry.path(), {}).Has("generator")) {  // Files of `cosched trace generate`.
      ReadGeneratorFile(TomlTable::Load(entry.path(), {}), entry.path().parent_path());
      continue;
    }
    const bool figure = entry.path().parent_path().filename() == "figures";
    FigureSettings how;
    FigureSection().Read(TomlTable::Load(entry.path(), {}).Table("figure"), &how);
    if (how.with == FigureSettings::Command::kBenchmark) {  // No experiment.
      EXPECT_FALSE(how.program.empty() || how.filter.empty());
      ChosenTable(TomlTable::Load(entry.path(), {}), true);
      continue;
    }
    std::vector<std::string> overrides;
    if (how.with == FigureSettings::Command::kValidate) {  // The machine is calibrated first.
      overrides.push_back("machine.profile='" + InSource("experiments/profiles/example.json") +
                          "'");
    }
    for (const bool quick : {false, true}) {
      if (quick && !figure) continue;
      try {
        LoadSweep(entry.path(), overrides, quick, big);
      } catch (const InputError& error) {  // A machine may have no container runtime, for one.
        EXPECT_EQ(error.details().problem.find("every point is left out"), 0U) << error.what();
      }
    }
  }
  EXPECT_GE(files, 1);
}

}  // namespace
}  // namespace cosched
