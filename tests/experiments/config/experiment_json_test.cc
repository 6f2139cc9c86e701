// Every key of an experiment file is in its manifest: one that is left out makes two experiments
// look the same, to --resume and to a reader.

#include "experiments/config/experiment_json.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "engine/base/error.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using Overrides = std::vector<std::string>;

class ExperimentJsonTest : public testing::Test {
 protected:
  ExperimentJsonTest() {
    ProgramProfile program;
    program.program = "lenet5 train batch 32";
    program.alone = {{1, {1, 1}, {0.4, 0.4, 0.4, 3}}};
    Profile profile;
    profile.programs = {program};
    program.program = "lenet5 infer batch 32";
    profile.programs.push_back(program);
    SaveProfile(profile, folder_.path() / "p.json");
    WriteText(folder_.path() / "t.csv", "arrival_s,workload,steps\n0,net,\n9,net,\n20,net,7\n");
    WriteText(folder_.path() / "digits" / "x", "");
    for (const char* name : {"d.json", "d2.json"})
      std::filesystem::copy_file(InSource("experiments/profiles/device_example.json"),
                                 folder_.path() / name);
    WriteText(folder_.path() / "e.toml", R"(name = "e"
policies = ["max-prop"]
[machine]
[container]
[simulation]
[services]
[sampling]
[records]
[[workload]]
name = "net"
model = "lenet5"
[[workload]]
name = "service"
model = "lenet5"
mode = "serve"
[[gate]]
metric = "makespan"
policy = "max-prop"
max = 2
[trace]
[[trace.requests]]
count = 3
)");
  }

  std::string Resolved(const Overrides& overrides) {
    return ExperimentJson(LoadConfig(folder_.path() / "e.toml", overrides, topology_)).dump(2);
  }

  // The keys that a table may have, from the message about one that it may not have.
  std::set<std::string> KeysOf(const std::string& table) {
    try {
      Resolved({table + "nonsense=1"});
    } catch (const InputError& error) {
      std::istringstream allowed(error.details().allowed);
      std::set<std::string> keys;
      for (std::string key; std::getline(allowed >> std::ws, key, ',');) keys.insert(key);
      return keys;
    }
    ADD_FAILURE() << table;
    return {};
  }

  const TemporaryFolder folder_;
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
};

struct Change {
  Overrides base;  // Beside the file, in both.
  Overrides set;   // Makes the difference.
};

const Overrides kSimulated = {"backend=simulated", "machine.profile=p.json"};
const Overrides kTwoNumaNodes = {"backend=simulated", "machine.profile=p.json",
                                 "machine.topology='pack:2 [numa] core:2 pu:1'"};
constexpr char kOtherRates[] =
    "machine.kernel_rates=window=1,gradient=1,product=1,memory=1,filter=1,new=1,turned=1,summed=1,"
    "transform2=1,transform4=1,lanes=1";
const Overrides kDevice = {"device=[{ name = 'd', profile = 'd.json' }]"};
const Overrides kGate = {"gate=[{ metric = 'makespan', policy = 'max-prop', max = 1 }]"};
const Overrides kFile = {"trace.file=t.csv"};

const std::map<std::string, Change>& Changes() {
  static const std::map<std::string, Change> changes = {
      {"name", {{}, {"name=other"}}},
      {"backend", {{"machine.profile=p.json"}, {"backend=simulated"}}},
      {"trials", {{}, {"trials=5"}}},
      {"most_trials", {{"trials=until makespan ± 2 %"}, {"most_trials=50"}}},
      {"gate", {{}, kGate}},
      {"gate.0.metric", {kGate, {"gate.0.metric=mean_turnaround_s"}}},
      {"gate.0.policy", {kGate, {"gate.0.policy=strict"}}},
      {"gate.0.elasticity", {kGate, {"gate.0.elasticity=malleable"}}},
      {"gate.0.service", {kGate, {"gate.0.service=service"}}},
      {"gate.0.against", {kGate, {"gate.0.against=strict"}}},
      {"gate.0.min", {kGate, {"gate.0.min=0.5"}}},
      {"gate.0.max", {{}, {"gate.0.max=3"}}},
      {"seed", {{}, {"seed=5"}}},
      {"policies", {{}, {"policies=[\"strict\"]"}}},
      {"baseline", {{}, {"baseline=strict"}}},
      {"elasticity", {{}, {"elasticity=[\"rigid\"]"}}},
      {"machine.cores", {{}, {"machine.cores=2"}}},
      {"machine.smt", {{}, {"machine.smt=threads"}}},
      {"machine.kernel_rates", {{"machine.kernel_rates=fixed"}, {kOtherRates}}},
      {"machine.actuator", {kSimulated, {"machine.actuator=quota"}}},
      {"machine.memory", {kTwoNumaNodes, {"machine.memory=stay"}}},
      {"machine.nodes", {{}, {"machine.nodes=2"}}},
      {"machine.quota_period_ms", {{}, {"machine.quota_period_ms=9"}}},
      {"machine.revocation_deadline_ms", {{}, {"machine.revocation_deadline_ms=9"}}},
      {"machine.start_timeout_s", {{}, {"machine.start_timeout_s=9"}}},
      {"machine.settle_timeout_s", {{}, {"machine.settle_timeout_s=9"}}},
      {"machine.heartbeat_timeout_s", {{}, {"machine.heartbeat_timeout_s=9"}}},
      {"machine.topology", {kSimulated, {"machine.topology=pack:1 core:4 pu:1"}}},
      {"machine.profile", {{}, {"machine.profile=p.json"}}},
      {"container.client", {{}, {"container.client=off"}}},
      {"container.actuation", {{}, {"container.actuation=runtime"}}},
      {"simulation.contention", {kSimulated, {"simulation.contention=false"}}},
      {"simulation.oversubscription", {kSimulated, {"simulation.oversubscription=false"}}},
      {"simulation.startup", {kSimulated, {"simulation.startup=false"}}},
      {"simulation.resize_delay", {kSimulated, {"simulation.resize_delay=false"}}},
      {"simulation.numa", {kSimulated, {"simulation.numa=false"}}},
      {"simulation.charge_decisions", {kSimulated, {"simulation.charge_decisions=7"}}},
      {"simulation.noise", {kSimulated, {"simulation.noise=0.1"}}},
      {"simulation.extrapolate", {kSimulated, {"simulation.extrapolate=true"}}},
      {"services.window_s", {{}, {"services.window_s=7"}}},
      {"services.in_flight", {{}, {"services.in_flight=7"}}},
      {"services.dispatch", {{}, {"services.dispatch=random"}}},
      {"services.polling", {{}, {"services.polling=published"}}},
      {"dispatch", {{}, {"dispatch.h1.alpha=1"}}},
      {"device", {{}, kDevice}},
      {"device.0.name", {kDevice, {"device.0.name=other"}}},
      {"device.0.profile", {kDevice, {"device.0.profile=d2.json"}}},
      {"device.0.slots", {kDevice, {"device.0.slots=2"}}},
      {"sampling.period_ms", {{}, {"sampling.period_ms=7"}}},
      {"sampling.interference", {{}, {"sampling.interference=true"}}},
      {"records.grants", {{}, {"records.grants=false"}}},
      {"records.decisions", {{}, {"records.decisions=false"}}},
      {"records.samples", {{}, {"records.samples=false"}}},
      {"records.steps", {{}, {"records.steps=false"}}},
      {"records.resizes", {{}, {"records.resizes=false"}}},
      {"records.actuations", {{}, {"records.actuations=false"}}},
      {"records.requests", {{}, {"records.requests=false"}}},
      {"records.timeline", {{}, {"records.timeline=false"}}},
      {"records.compress", {{}, {"records.compress=\"gzip\""}}},
      {"workload.0.name", {{}, {"workload.0.name=other"}}},
      {"workload.0.model", {{}, {"workload.0.model=resnet20"}}},
      {"workload.0.mode", {{}, {"workload.0.mode=infer"}}},
      {"workload.0.data", {{}, {"workload.0.data=digits"}}},
      {"workload.0.batch", {{}, {"workload.0.batch=7"}}},
      {"workload.0.steps", {{}, {"workload.0.steps=7"}}},
      {"workload.0.cores", {{}, {"workload.0.cores={min=1,preferred=2,max=4}"}}},
      {"workload.0.threads", {{}, {"workload.0.threads=4"}}},
      {"workload.0.inter", {{}, {"workload.0.inter=2"}}},
      {"workload.0.split", {{}, {"workload.0.split=auto"}}},
      {"workload.0.deterministic", {{}, {"workload.0.deterministic=false"}}},
      {"workload.0.spin_us", {{}, {"workload.0.spin_us=7"}}},
      {"workload.0.priority", {{}, {"workload.0.priority=2"}}},
      {"workload.0.weight", {{}, {"workload.0.weight=2"}}},
      {"workload.1.max_batch", {{}, {"workload.1.max_batch=2"}}},
      {"workload.1.max_delay_ms", {{}, {"workload.1.max_delay_ms=2"}}},
      {"workload.1.slo_ms", {{}, {"workload.1.slo_ms=2"}}},
      {"workload.1.sla_ms", {{}, {"workload.1.sla_ms=2"}}},
      {"workload.1.per_node", {{}, {"workload.1.per_node=true"}}},
      {"trace.jobs", {{}, {"trace.jobs=2"}}},
      {"trace.gap", {{}, {"trace.gap.mean_s=9"}}},
      {"trace.malleable_share", {{}, {"trace.malleable_share=0.5"}}},
      {"trace.requests", {{}, {"trace.requests.0.count=9"}}},
      {"trace.requests.0.count", {{}, {"trace.requests.0.count=9"}}},
      {"trace.requests.0.phases",
       {{}, {"trace.requests=[{ service = 'service', phases = [{ for_s = 1, rate = 2 }] }]"}}},
      {"trace.requests.0.gap", {{}, {"trace.requests.0.gap.mean_s=9"}}},
      {"trace.requests.0.work", {{}, {"trace.requests.0.work=9"}}},
      {"trace.requests.0.clients", {{}, {"trace.requests.0.clients=2"}}},
      {"trace.requests.0.start_s", {{}, {"trace.requests.0.start_s=9"}}},
      {"trace.changes", {{}, {"trace.changes=[{ at_s = 1, sla_ms = 5 }]"}}},
      {"trace.file", {{}, kFile}},
      {"trace.start_s", {kFile, {"trace.start_s=5"}}},
      {"trace.length_s", {kFile, {"trace.length_s=15"}}},
      {"trace.sample", {kFile, {"trace.sample=0.999"}}},
      {"trace.speedup", {kFile, {"trace.speedup=2"}}},
      {"trace.on_bad_row", {kFile, {"trace.on_bad_row=skip"}}},
      {"trace.merge", {kFile, {"trace.merge=[{file=\"t.csv\"}]"}}},
      {"policy", {{}, {"policy.max-prop.order=priority"}}},
      {"policy.max-prop.dispatch", {{}, {"policy.max-prop.dispatch=random"}}},
  };
  return changes;
}

// Each with its reason.
const std::map<std::string, std::string>& Exempt() {
  static const std::map<std::string, std::string> exempt = {
      {"machine", "its keys"},
      {"container", "its keys"},
      {"simulation", "its keys"},
      {"sampling", "its keys"},
      {"services", "its keys"},
      {"records", "its keys"},
      {"workload", "its keys"},
      {"trace", "its keys"},
      {"sweep", "a point has its values in the keys that they set"},
      {"quick", "the same"},
      {"figure", "of a drawing, not of the run"},
      {"workload.0.dataset", "another than procedural needs its files: below"},
      {"workload.0.precision", "bf16 needs a CPU that has it: below"},
      {"workload.0.max_batch", "of services"},
      {"workload.0.max_delay_ms", "of services"},
      {"workload.0.slo_ms", "of services"},
      {"workload.0.sla_ms", "of services"},
      {"workload.0.per_node", "of services"},
      {"workload.0.command", "of programs of others: command_config_test.cc"},
      {"workload.0.env", "of programs of others: command_config_test.cc"},
      {"workload.0.dir", "of programs of others: command_config_test.cc"},
      {"workload.0.mounts", "of programs of others: command_config_test.cc"},
      {"workload.0.progress", "of programs of others: command_config_test.cc"},
      {"workload.0.client", "of programs of others: command_config_test.cc"},
      {"workload.0.pipeline", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.open", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.open_max", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.credit_link", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.ranks", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.stages", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.items", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.work_ms", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.wait_ms", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.parallel", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.merge_ms", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.merges", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.reference", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.reads", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.chunk", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.level", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.memory_mib", "of pipelines: pipeline_config_test.cc"},
      {"simulation.cluster", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.parts", "of pipelines: pipeline_config_test.cc"},
      {"workload.0.images", "of pipelines: pipeline_config_test.cc"},
      {"trace.requests.0.service", "there is one: below"},
      {"trace.format", "told as recognised: the same where it is given"},
      {"trace.spread", "of files with counts: below"},
      {"trace.durations", "the same"},
      {"trace.map", "of foreign formats: trace_sources_test.cc"},
  };
  return exempt;
}

TEST_F(ExperimentJsonTest, EveryKeyMakesADifference) {
  for (const auto& [key, change] : Changes()) {
    SCOPED_TRACE(key);
    Overrides changed = change.base;
    changed.insert(changed.end(), change.set.begin(), change.set.end());
    EXPECT_NE(Resolved(change.base), Resolved(changed));
  }
}

TEST_F(ExperimentJsonTest, NoKeyOfTheFileIsForgottenAbove) {
  for (const std::string table :
       {"", "machine.", "container.", "simulation.", "sampling.", "services.", "records.",
        "workload.0.", "trace.", "trace.requests.0.", "gate.0."}) {
    for (const std::string& key : KeysOf(table))
      EXPECT_TRUE(Changes().contains(table + key) || Exempt().contains(table + key)) << table + key;
  }
}

TEST_F(ExperimentJsonTest, WhatNeedsMoreThanAFileIsThereByName) {
  const std::string text = Resolved(kFile);
  for (const char* key : {"\"dataset\": \"procedural\"", "\"precision\": \"f32\"",
                          "\"service\": \"service\"", "\"spread\"", "\"durations\"", "\"map\""}) {
    EXPECT_NE(text.find(key), std::string::npos) << key << "\n" << text;
  }
}

TEST_F(ExperimentJsonTest, ThreadsThatFollowAreToldFromThoseThatAreGiven) {
  const std::string preferred = "workload.0.cores={min=1,preferred=2,max=4}";
  EXPECT_NE(Resolved({preferred}), Resolved({preferred, "workload.0.threads=2"}))
      << "an arrival may ask for other cores, which only the first one's threads follow";
}

}  // namespace
}  // namespace cosched
