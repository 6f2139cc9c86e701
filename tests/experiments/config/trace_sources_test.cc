// [trace] with files: what is selected, mapped, merged, counted and refused.

#include "experiments/config/trace_sources.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/experiment_json.h"
#include "experiments/config/plan.h"
#include "experiments/launch/run_folder.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class TraceSourcesTest : public testing::Test {
 protected:
  TraceSourcesTest() {
    WriteText(folder_.path() / "pollux.csv",
              "name,time,application,num_replicas,batch_size\n"
              "a,100,cifar10,6,128\nb,110,ncf,1,32\nc,130,cifar10,2,128\nd,160,bert,1,32\n");
    WriteText(folder_.path() / "own.csv", "arrival_s,workload,steps\n5,net,7\n6.5,dense,\n");
  }

  TraceConfig Load(const std::string& trace, const std::vector<std::string>& overrides = {}) {
    WriteText(folder_.path() / "x.toml", R"(name = "x"
policies = ["strict"]
[[workload]]
name = "net"
model = "lenet5"
cores = { min = 1, preferred = 2, max = 2 }
[[workload]]
name = "dense"
model = "resnet20"
steps = 9
[trace]
)" + trace);
    config_ = LoadConfig(folder_.path() / "x.toml", overrides, here_);
    return config_.trace;
  }

  InputErrorDetails Refused(const std::string& trace) {
    try {
      Load(trace);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << trace << " is accepted";
    return {};
  }

  const TemporaryFolder folder_;
  const Topology here_ = Topology::Synthetic("pack:1 [numa] core:4 pu:1");
  ExperimentConfig config_;
};

constexpr const char* kByColumn =
    "file = \"pollux.csv\"\n"
    "map.workload = { column = \"application\", cifar10 = \"net\", ncf = \"dense\", default = "
    "\"reject\" }\n";

TEST_F(TraceSourcesTest, AMapTurnsColumnsIntoWorkloadsAndCountsWhatItRejects) {
  const TraceConfig trace = Load(kByColumn);
  ASSERT_EQ(trace.replay->size(), 3U);
  EXPECT_EQ(trace.jobs, 3);
  EXPECT_EQ((*trace.replay)[0].workload, "net");
  EXPECT_EQ((*trace.replay)[0].time, Duration::zero()) << "the first arrival is the zero";
  EXPECT_EQ((*trace.replay)[2].time, FromSeconds(30));
  EXPECT_EQ((*trace.replay)[0].cores_preferred, std::nullopt);
  const TraceSource& source = trace.sources.at(0);
  EXPECT_EQ(source.format, "pollux");
  EXPECT_EQ(source.rows, 4);
  EXPECT_EQ(source.jobs, 3);
  EXPECT_EQ(source.rejected, 1);
  ASSERT_EQ(TraceSourceNotes(trace.sources).size(), 1U);
  EXPECT_NE(TraceSourceNotes(trace.sources)[0].find("1 of 4 arrivals rejected"), std::string::npos);
  const std::string manifest = ExperimentJson(config_).dump(2);
  for (const char* part : {"\"rejected\": 1", "\"format\": \"pollux\"", "cifar10", "fnv1a"})
    EXPECT_NE(manifest.find(part), std::string::npos) << part;
}

TEST_F(TraceSourcesTest, CoresOfTheTraceMoveTheWorkloadsBoundsAndStayWithinTheMachine) {
  const TraceConfig trace = Load(std::string(kByColumn) + "map.cores = \"trace\"\n");
  const WorkloadConfig& net = config_.workloads[0];
  EXPECT_EQ(RequestOf(net, (*trace.replay)[0]), (CoreRequest{1, 4, 4})) << "six of four";
  EXPECT_EQ(RequestOf(net, (*trace.replay)[2]), (CoreRequest{1, 2, 2}));
  EXPECT_EQ(trace.sources.at(0).limited, 1);
}

TEST_F(TraceSourcesTest, AWindowIsOfTheFilesOwnTimeAndSpeedupOfWhatIsLeft) {
  const TraceConfig trace =
      Load(std::string(kByColumn) + "start_s = 5\nlength_s = 26\nspeedup = 10\n");
  ASSERT_EQ(trace.replay->size(), 2U);
  EXPECT_EQ((*trace.replay)[0].workload, "dense");
  EXPECT_EQ((*trace.replay)[1].time, FromSeconds(2));
}

TEST_F(TraceSourcesTest, SamplesGoBySeed) {
  std::string rows = "name,time,application,num_replicas,batch_size\n";
  for (int i = 0; i < 1000; ++i) rows += "a," + std::to_string(i) + ",cifar10,1,1\n";
  WriteText(folder_.path() / "many.csv", rows);
  const std::string trace = "file = \"many.csv\"\nmap.workload = \"by-weight\"\nsample = 0.2\n";
  const auto once = Load(trace).replay->size();
  EXPECT_NEAR(static_cast<double>(once), 200, 60);
  EXPECT_EQ(Load(trace).replay->back().time, Load(trace).replay->back().time);
  const uint64_t one = Load(trace).sources[0].selection.seed;
  EXPECT_NE(Load(trace, {"seed=2"}).sources[0].selection.seed, one);
}

TEST_F(TraceSourcesTest, FilesAreMergedOnOneClock) {
  const TraceConfig trace =
      Load(std::string(kByColumn) + "[[trace.merge]]\nfile = \"own.csv\"\noffset_s = 20\n");
  ASSERT_EQ(trace.replay->size(), 5U);
  std::vector<double> times;
  for (const JobArrival& arrival : *trace.replay) times.push_back(ToSeconds(arrival.time));
  EXPECT_EQ(times, (std::vector<double>{0, 10, 20, 21.5, 30}));
  EXPECT_EQ((*trace.replay)[2].steps, 7) << "the cosched format is taken as it is";
  EXPECT_EQ(trace.sources.at(1).format, "cosched");
}

TEST_F(TraceSourcesTest, BadRowsAreAnErrorOrSkippedAndTold) {
  WriteText(folder_.path() / "pollux.csv",
            "name,time,application,num_replicas,batch_size\n"
            "a,100,cifar10,6,128\nb,soon,ncf,1,32\nc,130,cifar10,2,many\n");
  const std::string trace =
      "file = \"pollux.csv\"\nmap.workload = \"net\"\n"
      "map.steps = { column = \"batch_size\", per_unit = 1 }\n";
  EXPECT_EQ(Refused(trace).line, 3);
  const TraceConfig loaded = Load(trace + "on_bad_row = \"skip\"\n");
  EXPECT_EQ(loaded.replay->size(), 1U);
  EXPECT_EQ(loaded.sources[0].skipped, 2) << "by the reader, and by the map";
  EXPECT_NE(TraceSourceNotes(loaded.sources).at(0).find("soon"), std::string::npos);
}

TEST_F(TraceSourcesTest, WhatAMapCannotReadIsToldByFileLineAndColumn) {
  const InputErrorDetails details = Refused(
      "file = \"pollux.csv\"\nmap.workload = \"net\"\n"
      "map.steps = { column = \"application\", per_unit = 1 }\n");
  EXPECT_EQ(details.file, (folder_.path() / "pollux.csv").string());
  EXPECT_EQ(details.line, 2);
  EXPECT_EQ(details.key, "application");
}

TEST_F(TraceSourcesTest, TheCoschedFormatNeedsNoMapAndKeepsItsErrors) {
  EXPECT_EQ((*Load("file = \"own.csv\"\n").replay)[1].time, FromSeconds(1.5));
  WriteText(folder_.path() / "own.csv", "arrival_s,workload\n0,net\n1,vgg\n");
  const InputErrorDetails unknown = Refused("file = \"own.csv\"\n");
  EXPECT_EQ(unknown.line, 3);
  EXPECT_EQ(unknown.key, "workload");
  EXPECT_EQ(unknown.allowed, "net, dense");
  WriteText(folder_.path() / "own.csv", "arrival_s,workload,cores_max\n0,net,64\n");
  EXPECT_EQ(Refused("file = \"own.csv\"\n").key, "cores_max");
  WriteText(folder_.path() / "own.csv", "arrival_s,workload,step\n0,net,64\n");
  EXPECT_EQ(Refused("file = \"own.csv\"\n").key, "step");
}

TEST_F(TraceSourcesTest, WrongInputIsRefusedWithItsKey) {
  const std::string file = "file = \"pollux.csv\"\n";
  const std::string map = file + "map.workload = \"net\"\n";
  EXPECT_EQ(Refused(file).key, "trace.map");
  EXPECT_EQ(Refused(file + "map.cores = \"trace\"\n").key, "trace.map.workload");
  EXPECT_EQ(Refused(file + "map.workload = \"vgg\"\n").key, "trace.map.workload");
  EXPECT_EQ(Refused(file + "map.workload = { column = \"application\" }\n").key,
            "trace.map.workload.default");
  EXPECT_EQ(Refused(file + "map.workload = { column = \"application\", a = \"b\", default = "
                           "\"net\" }\n")
                .key,
            "trace.map.workload.a");
  EXPECT_EQ(Refused(file + "map.workload = { column = \"app\", default = \"net\" }\n").key,
            "trace.map.workload.column");
  EXPECT_EQ(Refused(map + "map.steps = { column = \"time\" }\n").key, "trace.map.steps");
  EXPECT_EQ(
      Refused(map + "map.steps = { column = \"time\", per_unit = 1, min = 5, max = 2 }\n").key,
      "trace.map.steps.max");
  EXPECT_EQ(Refused(map + "map.steps = { column = \"hours\", per_unit = 1 }\n").key,
            "trace.map.steps.column");
  EXPECT_EQ(Refused(map + "map.work = { column = \"time\", per_unit = 1 }\n").key,
            "trace.map.work");
  EXPECT_EQ(Refused(map + "map.elasticity = { column = \"name\", a = \"elastic\" }\n").key,
            "trace.map.elasticity.a");
  EXPECT_EQ(Refused(map + "map.cores = \"all\"\n").key, "trace.map.cores");
  EXPECT_EQ(Refused(map + "format = \"csv\"\n").key, "trace.format");
  EXPECT_EQ(Refused(map + "on_bad_row = \"hide\"\n").key, "trace.on_bad_row");
  EXPECT_EQ(Refused(map + "sample = 0\n").key, "trace.sample");
  EXPECT_EQ(Refused(map + "speedup = -1\n").key, "trace.speedup");
  EXPECT_EQ(Refused(map + "jobs = 3\n").key, "trace.jobs");
  EXPECT_EQ(Refused("sample = 0.5\n").key, "trace.sample") << "without a file";
  EXPECT_EQ(Refused(map + "start_s = 4000\n").key, "trace.file") << "nothing is left";
  EXPECT_EQ(Refused(map + "start_s = 4e9\n").key, "trace.start_s") << "beyond a century";
  EXPECT_EQ(Refused(map + "length_s = 1e10\n").key, "trace.length_s");
  EXPECT_EQ(Refused(map + "[[trace.merge]]\nfile = \"own.csv\"\njobs = 1\n").key,
            "trace.merge.0.jobs");
}

}  // namespace
}  // namespace cosched
