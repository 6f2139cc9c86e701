// Tenants that misbehave, in virtual time: each way ends as on hardware (tests/chaos/), and the
// records of runs that hold them satisfy every invariant.

#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "experiments/analysis/metrics.h"
#include "experiments/harness/harness.h"
#include "experiments/launch/run_folder.h"
#include "experiments/wire/chaos_plan.h"
#include "tests/chaos/chaos_alone.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/fidelity/simulation.h"
#include "tests/paths.h"

namespace cosched {
namespace {

SimulatedHost ChaosHost(const CpuSet& machine) {
  return SimulatedHost(
      {.profile = std::make_shared<const Profile>(PerfectProfile()), .machine = machine});
}

// Gives it four cores, then takes three back. Its end: "" = finished, else why it failed.
std::string EndAlone(std::string_view behaviour, uint64_t seed, double* seconds) {
  const CpuSet machine = CpuSet::Range(0, 3);
  SimulatedHost host = ChaosHost(machine);
  Job job;
  job.id = JobId{1};
  job.request = {1, 4, 4};
  TenantSpec spec;
  spec.model = "chaos:" + std::string(behaviour);
  spec.steps = kLongEnough;
  spec.seed = seed;
  host.Describe(job.id, spec);
  host.Start(job, Place::Whole(machine, DefaultSplit(4)));
  bool shrunk = false;
  while (const auto event = host.NextEvent(TimePoint(std::chrono::hours(1)))) {
    *seconds = ToSeconds(host.Now());
    if (!std::holds_alternative<HostSettled>(*event)) {
      const auto* failed = std::get_if<HostFailed>(&*event);
      return failed != nullptr ? failed->reason : "";
    }
    if (!std::exchange(shrunk, true)) host.Grant(job.id, Place::Whole(CpuSet{0}, {1, 1}));
  }
  return "it never ends";
}

TEST(SimulatedChaos, EachBehaviourEndsAsOnHardware) {
  for (const ChaosBehaviour& behaviour : ChaosBehaviours()) {
    std::set<std::string> ends;
    double seconds = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const std::string end = EndAlone(behaviour.name, seed, &seconds);
      double again = 0;
      EXPECT_EQ(EndAlone(behaviour.name, seed, &again), end);
      EXPECT_EQ(again, seconds);
      ends.insert(end);
      const std::vector<std::string_view> may = OwnEnds(behaviour.name);
      EXPECT_TRUE(std::any_of(may.begin(), may.end(),
                              [&end](std::string_view reason) {
                                return reason.empty() ? end.empty() : end.starts_with(reason);
                              }))
          << behaviour.name << ": " << end;
    }
    std::printf("%s: %zu ends, such as \"%s\" after %.3f s\n", std::string(behaviour.name).c_str(),
                ends.size(), ends.begin()->c_str(), seconds);
  }
}

TEST(SimulatedChaos, AShrinkThatIsRefusedCostsTheDeadline) {
  double seconds = 0;
  EXPECT_EQ(EndAlone("deaf", 1, &seconds), "did not leave cores 1-3 within 250 ms");
  EXPECT_DOUBLE_EQ(seconds, 0.25);
}

TEST(SimulatedChaos, RecordsHoldUnderEveryPolicy) {
  const TemporaryFolder folder;
  SaveProfile(PerfectProfile(), folder.path() / "p.json");
  const Topology here = Topology::ThisMachine();
  int failed = 0;
  for (int seed = 1; seed <= 5; ++seed) {
    WriteText(folder.path() / "c.toml", fmt::format(R"(
name = "chaos"
backend = "simulated"
seed = {}
trials = 1
policies = ["no-control", "static-partition", "strict", "always-attend", "max-prop", "equal-share", "round-robin", "gang", "lend-reclaim", "feedback"]
elasticity = ["rigid", "malleable"]
machine = {{ topology = "pack:1 core:4 pu:1", profile = "p.json" }}
trace = {{ jobs = 8, gap = {{ distribution = "exponential", mean_s = 0.2 }} }}
workload = [
  {{ name = "honest", model = "lenet5", batch = 1, steps = 1000000, cores = {{ min = 1, preferred = 2 }} }},
  {{ name = "chaos", model = "chaos", steps = 400, cores = {{ min = 1, preferred = 3 }} }},
]
records.steps = false
)",
                                                    seed));
    const Sweep sweep = SinglePoint(LoadConfig(folder.path() / "c.toml", {}, here));
    const SweepPoint& point = sweep.points.front();
    RunFolder run =
        RunFolder::Create(folder.path() / "results", sweep,
                          {.topology = here, .command_line = "a test", .scheduling = "none"});
    const HarnessResult result = RunCells(point.config, point.plan, point.plan.cells,
                                          {.run = run.path(),
                                           .topology = *point.config.topology,
                                           .hosts = SimulatedHosts(point.config)});
    EXPECT_EQ(result.failed, 0) << seed;
    failed += result.with_failures;
    WriteSummary(run.path());
    run.Finish("done");
  }
  EXPECT_GT(failed, 0);
  const std::string check =
      fmt::format("python3 {} {} > {}", InSource("tests/check_results.py"),
                  (folder.path() / "results").string(), (folder.path() / "check.txt").string());
  EXPECT_EQ(std::system(check.c_str()), 0) << ReadText(folder.path() / "check.txt").substr(0, 5000);
}

}  // namespace
}  // namespace cosched
