// Whole cells on agents of this machine, with fake tenants: decided as on one host, and whole when
// an agent is killed in the middle.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "experiments/analysis/metrics.h"
#include "experiments/config/experiment_json.h"
#include "experiments/harness/harness.h"
#include "experiments/records/csv.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"
#include "tests/experiments/hosts/cluster_fixture.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class ClusterHarnessTest : public testing::Test {
 protected:
  ClusterHarnessTest() : cores_(topology_.Cpus().Lowest(2)) {}
  void SetUp() override {
    if (cores_.Count() < 2) GTEST_SKIP() << "needs two cores";
    // What happens when is far apart, whatever else the machine does: the first ends, the second,
    // the fourth in its place, and then the third, which took the first's.
    WriteText(folder_.path() / "t.csv",
              "arrival_s,workload,steps\n0,lenet5,25\n0,lenet5,300\n0,lenet5,900\n0,lenet5,25\n");
    WriteText(folder_.path() / "x.toml", R"(name = "x"
trials = 1
policies = ["scripted"]
trace.file = "t.csv"
policy.scripted.timetable = "0:1"
[machine]
nodes = 2
actuator = "affinity"
kernel_rates = "fixed"
cores = ")" + cores_.ToString() + R"("
[[workload]]
model = "lenet5"
cores = { min = 1, max = 1 }
)");
  }

  HostFactory OneHost() {
    return {.make_host = [](const std::filesystem::path&, bool) {
      return std::make_unique<ProcessHost>(HostOptions());
    }};
  }
  HostFactory Agents() {
    return {.make_host = [this](const std::filesystem::path& folder, bool) {
      return std::make_unique<ClusterHost>(
          ClusterOptions(std::filesystem::absolute(folder), OneCoreNodes(cores_)));
    }};
  }
  // Its cell's folder.
  std::filesystem::path Run(
      const std::string& name, HostFactory hosts,
      std::function<bool()> interrupted = [] { return false; }) {
    const ExperimentConfig config = LoadConfig(folder_.path() / "x.toml", {}, topology_);
    const Plan plan = MakePlan(config);
    result_ = RunCells(config, plan, plan.cells,
                       {.run = folder_.path() / name,
                        .topology = topology_,
                        .hosts = std::move(hosts),
                        .interrupted = std::move(interrupted)});
    return CellFolder(folder_.path() / name, plan.cells.at(0));
  }
  // Without those that changed nothing: when ticks come, and in which order two jobs that start at
  // once are ready, is left to the kernel.
  static std::vector<std::string> Decisions(const std::filesystem::path& cell) {
    std::map<int64_t, std::string> decisions;  // They come to the file as their grants settle.
    CsvReader rows(cell / "decisions.csv");
    const size_t event = rows.Column("event"), allocation = rows.Column("allocation");
    while (rows.Next()) {
      const std::string what(rows.Text(event)), answer(rows.Text(allocation));
      if (!answer.empty() || what.starts_with("job-"))
        decisions[rows.Integer(rows.Column("decision"))] = fmt::format("{}: {}", what, answer);
    }
    std::vector<std::string> in_order;
    for (const auto& [number, text] : decisions) in_order.push_back(text);
    return in_order;
  }

  const TemporaryFolder folder_;
  const Topology topology_ = Topology::ThisMachine();
  const CpuSet cores_;
  HarnessResult result_;
};

TEST_F(ClusterHarnessTest, DecisionsAreThoseOfOneHost) {
  const std::filesystem::path one = Run("one", OneHost());
  EXPECT_EQ(result_.done, 1);
  const std::filesystem::path nodes = Run("nodes", Agents());
  EXPECT_EQ(result_.done, 1);
  const std::vector<std::string> decisions = Decisions(nodes);
  EXPECT_GE(decisions.size(), 8U) << "four arrivals, four ends";
  EXPECT_EQ(decisions, Decisions(one));
  CsvReader steps(nodes / "steps.csv");
  int rows = 0;
  while (steps.Next()) ++rows;
  EXPECT_EQ(rows, 25 + 300 + 900 + 25);
}

TEST_F(ClusterHarnessTest, TheCellIsWholeWithoutAnAgentThatWasKilled) {
  int asked = 0;
  const std::filesystem::path cell = Run("killed", Agents(), [&asked] {
    if (++asked == 10) kill(AgentOfNode("n1"), SIGKILL);
    return false;
  });
  EXPECT_EQ(result_.with_failures, 1);
  EXPECT_TRUE(LivingChildrenOf(getpid()).empty());
  std::map<std::string, int> states;
  CsvReader jobs(cell / "jobs.csv");
  while (jobs.Next()) {
    ++states[std::string(jobs.Text(jobs.Column("state")))];
    if (jobs.Text(jobs.Column("state")) != "failed") continue;
    EXPECT_THAT(std::string(jobs.Text(jobs.Column("reason"))),
                testing::HasSubstr("the agent of node n1"));
  }
  EXPECT_GE(states["failed"], 1);
  EXPECT_GE(states["finished"], 1) << "those of the other node";
  EXPECT_EQ(states["failed"] + states["finished"], 4);
  EXPECT_NE(ReadText(cell / "cell.json").find("the agent of node n1 was lost"), std::string::npos);
}

}  // namespace
}  // namespace cosched
