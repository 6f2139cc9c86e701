// The harness over a host without processes: what is replayed, what is recorded, and how cells
// end.

#include "experiments/harness/harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "experiments/analysis/marked_cells.h"
#include "experiments/analysis/metrics.h"
#include "experiments/config/experiment_json.h"
#include "experiments/launch/run_folder.h"
#include "experiments/records/csv.h"
#include "tests/experiments/harness/fake_observed_host.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/policies/misbehaving_policies.h"

namespace cosched {
namespace {

// What is told of cells when they end.
struct EndedCells final : ProgressObserver {
  void OnCellStarted(const CellKey&, int) override {}
  void OnJobsDone(int) override {}
  void OnCellEnded(const CellKey&, const std::string& problem) override {
    problems.push_back(problem);
  }
  std::vector<std::string> problems;
};

class HarnessTest : public testing::Test {
 protected:
  ExperimentConfig Config(const std::vector<std::string>& overrides = {}) {
    WriteText(folder_.path() / "x.toml", R"(name = "x"
trials = 2
policies = ["strict", "equal-share"]
elasticity = ["rigid", "malleable"]
[trace]
jobs = 5
gap = { distribution = "exponential", mean_s = 0.1 }
[[workload]]
model = "lenet5"
steps = 30
cores = { min = 1, preferred = 2, max = 4 }
[[workload]]
model = "resnet20"
steps = 50
)");
    return LoadConfig(folder_.path() / "x.toml", overrides, topology_);
  }

  HarnessOptions Options() {
    return {.run = folder_.path() / "run",
            .topology = topology_,
            .hosts = FakeObservedHost::Factory(&script_)};
  }

  nlohmann::json CellJson(const CellKey& key) {
    return nlohmann::json::parse(ReadText(CellFolder(folder_.path() / "run", key) / "cell.json"));
  }

  const TemporaryFolder folder_;
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
  FakeHostScript script_;
};

TEST_F(HarnessTest, PlansAreSeededAndCoverEveryCellOnce) {
  const Plan plan = MakePlan(Config());
  EXPECT_EQ(plan.cells, MakePlan(Config()).cells);
  EXPECT_NE(plan.cells, MakePlan(Config({"seed=2"})).cells);
  EXPECT_EQ(std::set<CellKey>(plan.cells.begin(), plan.cells.end()).size(), 8U);
  ASSERT_EQ(plan.traces.size(), 2U);
  EXPECT_NE(plan.traces[0].back().time, plan.traces[1].back().time);
  // Fewer trials are the first of more.
  EXPECT_EQ(MakePlan(Config({"trials=1"})).traces[0].back().time, plan.traces[0].back().time);
}

// A machine that drifts hits every policy and elasticity alike.
TEST_F(HarnessTest, CellsRunInRandomisedCompleteBlocksOneATrial) {
  const Plan plan = MakePlan(Config({"trials=12"}));
  ASSERT_EQ(plan.cells.size(), 48U);
  std::set<std::vector<CellKey>> orders;
  for (int trial = 1; trial <= 12; ++trial) {
    const auto begin = plan.cells.begin() + 4 * (trial - 1);
    std::vector<CellKey> block(begin, begin + 4);
    for (CellKey& key : block) EXPECT_EQ(std::exchange(key.trial, 1), trial);
    EXPECT_EQ(std::set<CellKey>(block.begin(), block.end()).size(), 4U) << "each once";
    orders.insert(block);
  }
  EXPECT_GT(orders.size(), 4U) << "each in an order of its own";
}

TEST_F(HarnessTest, PollingIsNoMatterWhereNothingIsServed) {
  const ExperimentConfig config =
      Config({"trials=1", "policies=['strict']", "services.polling=published"});
  const Plan plan = MakePlan(config);
  EXPECT_EQ(RunCells(config, plan, plan.cells, Options()).done, 2);
}

TEST_F(HarnessTest, ReplayedTracesBeginAtZero) {
  WriteText(folder_.path() / "t.csv", "arrival_s,workload,steps\n5,lenet5,\n6.5,lenet5,7\n");
  WriteText(folder_.path() / "y.toml",
            "name = \"y\"\npolicies = [\"strict\"]\ntrace.file = \"t.csv\"\n[[workload]]\nmodel = "
            "\"lenet5\"\n");
  const ExperimentConfig config = LoadConfig(folder_.path() / "y.toml", {}, topology_);
  const Plan plan = MakePlan(config);
  EXPECT_EQ(plan.traces[0][0].time, Duration::zero());
  EXPECT_EQ(plan.traces[0][1].time, FromSeconds(1.5));
  EXPECT_EQ(CellJobs(config, Elasticity::kMalleable, 1).SpecOf(plan.traces[0][1], 1).steps, 7);
}

TEST_F(HarnessTest, EveryCellReplaysTheSameJobsAndIsWhole) {
  const ExperimentConfig config = Config();
  const Plan plan = MakePlan(config);
  const HarnessResult result = RunCells(config, plan, plan.cells, Options());
  EXPECT_EQ(result.done, 8);
  EXPECT_EQ(result.failed + result.with_failures, 0);
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(WholeCells(folder_.path() / "run").size(), 8U);
  ASSERT_EQ(script_.described.size(), 8U);
  for (size_t cell = 0; cell < 8; ++cell) {
    const JobTrace& trace = plan.traces[static_cast<size_t>(plan.cells[cell].trial - 1)];
    CellJobs jobs(config, Elasticity::kMalleable, plan.cells[cell].trial);
    ASSERT_EQ(script_.described[cell].size(), trace.size());
    for (size_t i = 0; i < trace.size(); ++i) {
      const auto& [time, spec] = script_.described[cell][i];
      EXPECT_NEAR(time, ToSeconds(trace[i].time), 1e-6);
      EXPECT_EQ(spec.seed, jobs.SpecOf(trace[i], static_cast<int64_t>(i)).seed);
    }
    EXPECT_EQ(CellJson(plan.cells[cell])["status"], "done");
    EXPECT_TRUE(CellJson(plan.cells[cell])["marks"].empty());
  }
}

TEST_F(HarnessTest, TwoExperimentsInOneProcessDoNotMeet) {
  const ExperimentConfig config = Config({"trials=1"});
  const Plan plan = MakePlan(config);
  const auto run = [&](const char* name) {
    HarnessOptions options = Options();
    options.run = folder_.path() / name;
    RunCells(config, plan, plan.cells, options);
    WriteSummary(options.run);
    return ReadText(options.run / "summary.csv");
  };
  const std::string first = run("first");
  EXPECT_EQ(first, run("second"));
  EXPECT_NE(first, "");
}

TEST_F(HarnessTest, AFailedJobIsCountedAndTheCellIsWhole) {
  const ExperimentConfig config = Config({"trials=1"});
  const Plan plan = MakePlan(config);
  script_.fails = 2;
  EndedCells ended;
  HarnessOptions options = Options();
  options.progress = &ended;
  const HarnessResult result = RunCells(config, plan, plan.cells, options);
  EXPECT_EQ(ended.problems, std::vector<std::string>(4, "1 of 5 jobs failed, job 2: told to"));
  EXPECT_EQ(result.with_failures, 4);
  EXPECT_EQ(result.failed, 0);
  for (const CellKey& key : plan.cells) EXPECT_EQ(Summarize(folder_.path() / "run", key).failed, 1);
}

TEST_F(HarnessTest, AHostThatGivesUpFailsItsCellOnly) {
  const ExperimentConfig config = Config({"trials=1"});
  const Plan plan = MakePlan(config);
  int calls = 0;
  script_.before_event = [&calls] {
    if (++calls == 3) throw std::runtime_error("out of processes");
  };
  const HarnessResult result = RunCells(config, plan, plan.cells, Options());
  EXPECT_EQ(result.failed, 1);
  EXPECT_EQ(result.done, 3);
  const nlohmann::json cell = CellJson(plan.cells[0]);
  EXPECT_EQ(cell["status"], "failed");
  EXPECT_NE(cell["reason"].get<std::string>().find("out of processes"), std::string::npos);
}

TEST_F(HarnessTest, AnInterruptKeepsWholeCellsAndTheRestCanFollow) {
  const ExperimentConfig config = Config();
  const Plan plan = MakePlan(config);
  HarnessOptions options = Options();
  options.interrupted = [this] {
    return script_.described.size() == 3 && script_.described.back().size() == 2;
  };
  EXPECT_TRUE(RunCells(config, plan, plan.cells, options).interrupted);
  EXPECT_EQ(WholeCells(options.run).size(), 2U);

  const std::vector<CellKey> rest(plan.cells.begin() + 2, plan.cells.end());
  options.interrupted = [] { return false; };
  EXPECT_EQ(RunCells(config, plan, rest, options).done, 6);
  EXPECT_EQ(WholeCells(options.run).size(), 8U);
}

TEST_F(HarnessTest, APolicyThatAnswersNonsenseIsRefusedWithTheReasonAndFailsItsCellOnly) {
  const ExperimentConfig config = Config({"trials=1", "trace.gap.mean_s=0.01"});
  const Plan plan = MakePlan(config);
  for (int kind = 0; kind < static_cast<int>(NonsensePolicy::Kind::kCount); ++kind) {
    const auto nonsense = static_cast<NonsensePolicy::Kind>(kind);
    SCOPED_TRACE(NonsensePolicy::Reason(nonsense));
    HarnessOptions options = Options();
    options.run = folder_.path() / std::to_string(kind);
    options.make_policy = [&](const std::string& name) -> std::unique_ptr<Policy> {
      if (name != "strict") return config.NewPolicy(name);
      return std::make_unique<NonsensePolicy>(nonsense, 4);  // Four run then, and the fifth waits.
    };
    const HarnessResult result = RunCells(config, plan, plan.cells, options);
    EXPECT_EQ(result.failed, 2);
    EXPECT_EQ(result.done, 2);
    for (const CellKey& key : plan.cells) {
      const std::filesystem::path folder = CellFolder(options.run, key);
      const nlohmann::json cell = nlohmann::json::parse(ReadText(folder / "cell.json"));
      EXPECT_EQ(cell["status"], key.policy == "strict" ? "failed" : "done");
      if (key.policy != "strict") continue;
      const auto reason = cell["reason"].get<std::string>();
      EXPECT_NE(reason.find("policy broke its contract"), std::string::npos) << reason;
      EXPECT_NE(reason.find(NonsensePolicy::Reason(nonsense)), std::string::npos) << reason;
      EXPECT_NE(ReadText(folder / "jobs.csv").find("cancelled"), std::string::npos);
    }
  }
}

TEST_F(HarnessTest, ACellThatCanNeverDrainFails) {
  const ExperimentConfig config = Config({"trials=1"});
  const Plan plan = MakePlan(config);
  HarnessOptions options = Options();
  options.make_policy = [](const std::string&) { return std::make_unique<IdlePolicy>(); };
  EXPECT_EQ(RunCells(config, plan, {plan.cells[0]}, options).failed, 1);
  const nlohmann::json cell = CellJson(plan.cells[0]);
  EXPECT_NE(cell["reason"].get<std::string>().find("never drain"), std::string::npos);
}

TEST_F(HarnessTest, LateArrivalsAreMarked) {
  const ExperimentConfig config = Config({"trials=1"});
  const Plan plan = MakePlan(config);
  script_.late_by = std::chrono::seconds(5);
  RunCells(config, plan, {plan.cells[0]}, Options());
  const nlohmann::json marks = CellJson(plan.cells[0])["marks"];
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_NE(marks[0].get<std::string>().find("4 of 5 jobs"), std::string::npos) << marks[0];
}

// Its clients cannot have thought of their next requests before.
TEST_F(HarnessTest, ClientsHearOfALossWhenTheServerEnds) {
  WriteText(folder_.path() / "y.toml", R"(name = "y"
trials = 1
policies = ["strict"]
[trace]
[[trace.requests]]
clients = 2
count = 6
gap = { distribution = "fixed", mean_s = 0.01 }
[[workload]]
model = "lenet5"
mode = "serve"
)");
  const ExperimentConfig config = LoadConfig(folder_.path() / "y.toml", {}, topology_);
  const Plan plan = MakePlan(config);
  script_.fails = 0;
  script_.serves_for = std::chrono::seconds(5);
  RunCells(config, plan, plan.cells, Options());
  CsvReader requests(CellFolder(folder_.path() / "run", plan.cells[0]) / "requests.csv");
  const size_t scheduled = requests.Column("scheduled");
  std::vector<double> times;
  while (requests.Next()) times.push_back(requests.Number(scheduled));
  std::sort(times.begin(), times.end());
  ASSERT_EQ(times.size(), 6U);
  EXPECT_LT(times[1], 1);
  EXPECT_GE(times[2], 5.01 - 1e-6) << "one was with the server, one in the queue";
  EXPECT_TRUE(CellJson(plan.cells[0])["marks"].empty()) << CellJson(plan.cells[0])["marks"];
}

TEST_F(HarnessTest, ALateJobHasWaitedSinceItsArrival) {
  const ExperimentConfig config = Config({"trials=1"});
  const Plan plan = MakePlan(config);
  script_.late_by = std::chrono::seconds(5);
  RunCells(config, plan, {plan.cells[0]}, Options());
  CsvReader jobs(CellFolder(folder_.path() / "run", plan.cells[0]) / "jobs.csv");
  const size_t id = jobs.Column("job_id"), submitted = jobs.Column("submission_time"),
               lateness = jobs.Column("lateness"), starting = jobs.Column("starting_time"),
               waiting = jobs.Column("waiting_time");
  int rows = 0;
  for (; jobs.Next(); ++rows) {
    const auto index = static_cast<size_t>(jobs.Integer(id));
    const double arrival = ToSeconds(plan.traces[0][index].time);
    EXPECT_NEAR(jobs.Number(submitted), arrival, 1e-6);
    EXPECT_NEAR(jobs.Number(lateness), index == 0 ? 0 : 5 - arrival, 1e-6);
    EXPECT_NEAR(jobs.Number(waiting), jobs.Number(starting) - arrival, 2e-6);
  }
  EXPECT_EQ(rows, 5);
}

// What --redo-marked runs anew, and that the new records take the old ones' place only when whole.
TEST_F(HarnessTest, MarkedCellsAreFoundAndReplaced) {
  const Sweep sweep = SinglePoint(Config());
  const std::filesystem::path run = folder_.path() / "run";
  RunCells(sweep.points[0].config, sweep.points[0].plan, sweep.points[0].plan.cells, Options());
  EXPECT_TRUE(MarkedCells(run, sweep).empty());
  const auto edit = [&](const SweepCell& cell, const char* key, const nlohmann::json& value) {
    nlohmann::json json = CellJson(cell.key);
    json[key] = value;
    WriteText(CellFolder(run, cell.key) / "cell.json", json.dump());
  };
  edit(sweep.cells[1], "marks", {"other programs used more than 10 % of the cores meanwhile"});
  edit(sweep.cells[4], "status", "failed");
  std::filesystem::remove_all(CellFolder(run, sweep.cells[6].key));
  const auto keys = [&] {
    std::vector<CellKey> keys;
    for (const SweepCell& cell : MarkedCells(run, sweep)) keys.push_back(cell.key);
    return keys;
  };
  const std::vector<CellKey> marked = {sweep.cells[1].key, sweep.cells[4].key, sweep.cells[6].key};
  ASSERT_EQ(keys(), marked);

  HarnessOptions options = Options();
  options.interrupted = [] { return true; };
  RunCells(sweep.points[0].config, sweep.points[0].plan, marked, options);
  EXPECT_EQ(keys(), marked) << "an interrupted one changes nothing";
  EXPECT_EQ(RunCells(sweep.points[0].config, sweep.points[0].plan, marked, Options()).done, 3);
  EXPECT_TRUE(keys().empty());
  EXPECT_EQ(WholeCells(run).size(), 8U);
  for (const CellKey& key : marked) {
    std::filesystem::path partial = CellFolder(run, key);
    EXPECT_FALSE(std::filesystem::exists(partial += ".partial"));
  }
}

class RunFolderTest : public HarnessTest {
 protected:
  RunContext Context() {
    return {.topology = topology_, .command_line = "cosched run x", .scheduling = "none"};
  }
};

TEST_F(RunFolderTest, ManifestSaysWhatRan) {
  const ExperimentConfig config = Config();
  RunFolder run = RunFolder::Create(folder_.path() / "results", SinglePoint(config), Context());
  EXPECT_EQ(run.path().parent_path(), folder_.path() / "results" / "x");
  const auto read = [&run] {
    return nlohmann::json::parse(ReadText(run.path() / "manifest.json"));
  };
  nlohmann::json manifest = read();
  EXPECT_EQ(manifest["status"], "running");
  EXPECT_TRUE(manifest["finished"].is_null());
  EXPECT_EQ(manifest["experiment"], nlohmann::json(ExperimentJson(config)));
  EXPECT_EQ(manifest["experiment"]["workload"][0]["steps"], 30);
  EXPECT_EQ(manifest["traces"].size(), 2U);
  EXPECT_EQ(manifest["policies"][0]["name"], "strict");
  EXPECT_FALSE(manifest["policies"][0]["oversubscribes"].get<bool>());
  EXPECT_FALSE(manifest["build"]["git_commit"].get<std::string>().empty());
  EXPECT_FALSE(manifest["host"]["topology_xml"].get<std::string>().empty());
  run.Finish("done");
  EXPECT_EQ(read()["status"], "done");
  EXPECT_FALSE(read()["finished"].is_null());
}

TEST_F(RunFolderTest, ResumeTakesTheLatestUnfinishedRunOfTheSameExperiment) {
  const std::filesystem::path results = folder_.path() / "results";
  const ExperimentConfig config = Config();
  const auto resume = [&](const ExperimentConfig& c) {
    return RunFolder::Resume(results, SinglePoint(c), Context());
  };
  EXPECT_THROW(resume(config), InputError);
  std::filesystem::path path;
  {
    const RunFolder running = RunFolder::Create(results, SinglePoint(config), Context());
    path = running.path();
    EXPECT_THROW(resume(config), InputError) << "a run that is still going is not taken";
  }
  EXPECT_THROW(resume(Config({"seed=2"})), InputError);
  {
    RunFolder resumed = resume(config);
    EXPECT_EQ(resumed.path(), path);
    resumed.Finish("done");
  }
  EXPECT_THROW(resume(config), InputError) << "a finished run is not taken";
}

TEST_F(RunFolderTest, RunsNeverShareAFolder) {
  const ExperimentConfig config = Config();
  std::set<std::filesystem::path> paths;
  for (int i = 0; i < 20; ++i) {
    paths.insert(
        RunFolder::Create(folder_.path() / "results", SinglePoint(config), Context()).path());
  }
  EXPECT_EQ(paths.size(), 20U);
}

TEST_F(RunFolderTest, FoldersThatCantBeMadeAreInputErrors) {
  const ExperimentConfig config = Config();
  WriteText(folder_.path() / "file", "");
  for (const std::filesystem::path& results :
       {folder_.path() / "file" / "results", std::filesystem::path("/proc/x")}) {
    try {
      RunFolder::Create(results, SinglePoint(config), Context());
      ADD_FAILURE() << results;
    } catch (const InputError& error) {
      EXPECT_EQ(error.details().key, "--out");
    }
  }
}

}  // namespace
}  // namespace cosched
