// [simulation.cluster]: the machines of a simulated pipeline, and who may have some.

#include "experiments/config/cluster_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/base/error.h"
#include "experiments/config/experiment_json.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Overrides = std::vector<std::string>;

class ClusterTableTest : public testing::Test {
 protected:
  ClusterTableTest() {
    Profile profile;
    profile.cores = 1;
    for (const char* name : {"increment pipeline, 1 stage of 10 ms, 4 items, merged in 40 ms",
                             "lenet5 infer batch 1"}) {
      ProgramProfile& program = profile.programs.emplace_back();
      program.program = name;
      program.alone = {{1, {1, 1}, {0.08, 0.08, 0.08, 3}}};
    }
    profile.programs[0].stages = {{"add1", {.per_item_s = 0.01}}, {"merge", {.per_call_s = 0.04}}};
    SaveProfile(profile, folder_.path() / "p.json");
    WriteText(folder_.path() / "c.toml", R"(name = "c"
backend = "simulated"
policies = ["strict"]
machine = { topology = "core:1 pu:1", profile = "p.json" }
[simulation.cluster]
link_latency_us = 30
link_gbit_per_s = 8
store_gbit_per_s = 16
machines = [ { count = 3, cores = 2, stages = ["add1"] }, { waiting_calls = 5, stages = ["merge"] } ]
[[workload]]
name = "one"
mode = "pipeline"
pipeline = "increment"
stages = 1
items = 4
work_ms = 10
merge_ms = 40
[[trace.requests]]
service = "one"
count = 1
)");
  }

  ExperimentConfig Load(const Overrides& overrides = {}) const {
    return LoadConfig(folder_.path() / "c.toml", overrides, here_);
  }
  InputErrorDetails Refused(const Overrides& overrides) const {
    try {
      Load(overrides);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  const TemporaryFolder folder_;
  const Topology here_ = Topology::Synthetic("core:1 pu:1");
};

TEST_F(ClusterTableTest, EveryKeyIsRead) {
  const ClusterSettings cluster = *Load().simulation.cluster;
  EXPECT_DOUBLE_EQ(cluster.link_latency_s, 30e-6);
  EXPECT_DOUBLE_EQ(cluster.link_bytes_per_s, 1e9);
  EXPECT_DOUBLE_EQ(cluster.store_bytes_per_s, 2e9);
  ASSERT_EQ(cluster.groups.size(), 2U);
  EXPECT_EQ(cluster.groups[0].count, 3);
  EXPECT_EQ(cluster.groups[0].cores, 2);
  EXPECT_THAT(cluster.groups[0].stages, ElementsAre("add1"));
  EXPECT_EQ(cluster.groups[1].count, 1);
  EXPECT_EQ(cluster.groups[1].waiting_lanes, 5);
}

TEST_F(ClusterTableTest, EveryKeyIsInTheManifestAndItsListedDefaultHolds) {
  const auto manifest = [this](const Overrides& overrides) {
    return ExperimentJson(Load(overrides)).dump();
  };
  const std::string at = "simulation.cluster.", machines = at + "machines=[{ ";
  const Overrides bare = {at + "link_latency_us=0", at + "link_gbit_per_s=0",
                          at + "store_gbit_per_s=0", machines + "}]"};
  const auto with = [&bare](const std::string& override_text) {
    Overrides all = bare;
    all.push_back(override_text);
    return all;
  };
  for (const std::string& one :
       {at + "link_latency_us=7", at + "link_gbit_per_s=7", at + "store_gbit_per_s=7",
        machines + "count=2 }]", machines + "cores=2 }]", machines + "waiting_calls=2 }]",
        machines + "stages=['add1', 'merge'] }]"})
    EXPECT_NE(manifest(bare), manifest(with(one))) << one;
  EXPECT_EQ(manifest(bare),
            manifest(with(machines + "count=1, cores=1, waiting_calls=0, stages=[] }]")));
  WriteText(folder_.path() / "bare.toml", R"(name = "c"
backend = "simulated"
policies = ["strict"]
machine = { topology = "core:1 pu:1", profile = "p.json" }
simulation = { cluster = { machines = [ {} ] } }
[[workload]]
name = "one"
mode = "pipeline"
pipeline = "increment"
stages = 1
items = 4
work_ms = 10
merge_ms = 40
[[trace.requests]]
service = "one"
count = 1
)");
  const ExperimentConfig defaults = LoadConfig(folder_.path() / "bare.toml", Overrides{}, here_);
  EXPECT_EQ(ExperimentJson(defaults)["simulation"], ExperimentJson(Load(bare))["simulation"]);
}

TEST_F(ClusterTableTest, OnlyASimulatedPipelineByItselfHasMachines) {
  const InputErrorDetails hardware = Refused({"backend=hardware", "machine={ profile='p.json' }"});
  EXPECT_EQ(hardware.key, "simulation.cluster");
  EXPECT_THAT(hardware.problem, HasSubstr("only simulated"));
  EXPECT_THAT(hardware.allowed, HasSubstr("backend = \"simulated\""));

  const std::string service = "{ name='net', model='lenet5', mode='serve', batch=1 }";
  const std::string adder =
      "{ name='one', mode='pipeline', pipeline='increment', stages=1, items=4, work_ms=10, "
      "merge_ms=40 }";
  EXPECT_THAT(Refused({"workload=[" + adder + ", " + service + "]"}).problem,
              HasSubstr("2 workloads"));
  EXPECT_THAT(Refused({"workload=[" + service + "]", "trace.requests.0.service=net"}).problem,
              HasSubstr("the workload is none"));
}

TEST_F(ClusterTableTest, EachWrongValueIsNamed) {
  const std::string at = "simulation.cluster.";
  EXPECT_EQ(Refused({at + "link_latency_us=-1"}).key, at + "link_latency_us");
  EXPECT_EQ(Refused({at + "link_gbit_per_s=-1"}).key, at + "link_gbit_per_s");
  EXPECT_EQ(Refused({at + "store_gbit_per_s=-1"}).key, at + "store_gbit_per_s");
  EXPECT_EQ(Refused({at + "machines=[]"}).key, at + "machines");
  EXPECT_EQ(Refused({at + "machines.0.count=0"}).key, at + "machines.0.count");
  EXPECT_EQ(Refused({at + "machines.0.cores=0"}).key, at + "machines.0.cores");
  EXPECT_THAT(Refused({at + "machines=[{ count=10000, cores=10000 }]"}).problem,
              HasSubstr("100000000 cores"));
  EXPECT_EQ(Refused({at + "nodes=3"}).key, at + "nodes");
  EXPECT_EQ(Refused({at + "machines.0.size=3"}).key, at + "machines.0.size");
  EXPECT_THAT(Refused({at + "machines.0.stages=['nonsense']"}).problem, HasSubstr("nonsense"));
  EXPECT_THAT(Refused({at + "machines=[{ stages=['add1'] }]"}).problem, HasSubstr("none"));
}

}  // namespace
}  // namespace cosched
