// Hosts survive tenants that misbehave (experiments/tenant/chaos_tenant.h): whatever these do,
// their cores come back and go to others, no thread of theirs may run on others' cores where the
// kernel confines them, the run ends, an honest tenant beside them finishes, and the records hold.
// The times in which cores came back are printed, not judged: CI's machines are noisy.
//
//   build/test_chaos --gtest_filter='ChaosTest.TwoHundred*'

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "experiments/analysis/metrics.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/sweep.h"
#include "experiments/harness/harness.h"
#include "experiments/hosts/process_host.h"
#include "experiments/launch/run_folder.h"
#include "experiments/os/process_sampler.h"
#include "experiments/records/csv.h"
#include "experiments/tenant/chaos_tenant.h"
#include "policies/registry.h"
#include "tests/chaos/chaos_alone.h"
#include "tests/experiments/temporary_folder.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kRuns = 200;
constexpr int kAtOnce = 8;  // They mostly wait for deadlines.
std::atomic<int64_t> masks_seen{0};

// Those who write to this log: a tenant and all that it has forked, wherever they are now.
std::vector<pid_t> ProcessesOf(const std::filesystem::path& log) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    std::error_code gone;
    if (pid > 0 && std::filesystem::read_symlink(entry.path() / "fd/2", gone) == log) {
      found.push_back(pid);
    }
  }
  return found;
}

// Looks at every sample where the threads of its tenants may run.
class WatchedHost final : public ProcessHost {
 public:
  WatchedHost(const std::filesystem::path& logs, const ExperimentConfig& config)
      : ProcessHost({.binary = CoschedBinary(),
                     .log_directory = logs,
                     .topology = Topology::ThisMachine(),
                     .actuator = config.actuator,
                     .cores = config.cores,
                     .timeouts = {.heartbeat = seconds(2),
                                  .start = seconds(4),
                                  .settle = seconds(6),
                                  .revocation = config.timeouts.revocation}}),
        logs_(std::filesystem::canonical(logs)),
        confined_(config.actuator == Actuator::kCpuset) {}

  std::vector<TenantSample> Sample() override {
    std::vector<TenantSample> samples = ProcessHost::Sample();
    if (confined_) {
      for (const TenantSample& sample : samples) ExpectAtItsPlace(sample);
    }
    return samples;
  }

 private:
  // What a thread may run on, whatever it asks the kernel for. That the cores of two tenants never
  // meet is the checker's part (grants.csv). Only this thread makes grants, so none comes between.
  void ExpectAtItsPlace(const TenantSample& sample) const {
    if (sample.settling || sample.granted.Empty()) return;  // Stopped ones may have any.
    const Topology topology = Topology::ThisMachine();
    const std::string log = fmt::format("tenant-{}.log", sample.job.value);
    for (const pid_t process : ProcessesOf(logs_ / log)) {
      for (const pid_t thread : ThreadsOf(process)) {
        const CpuSet mask = topology.ThreadBinding(thread);
        EXPECT_TRUE(sample.granted.Contains(mask))
            << logs_ / log << ": on cores " << mask.ToString() << " instead of "
            << sample.granted.ToString();
        ++masks_seen;
      }
    }
  }

  const std::filesystem::path logs_;
  const bool confined_;  // By the kernel: what is bound by affinity can bind itself anew.
};

// Every second run: a culprit has all cores and must leave one for an honest tenant, with the
// default deadline. That tenant never has more than one, so nothing is revoked from it: on a
// machine with several runs at once it might need longer than the deadline for its own part.
constexpr const char* kCulprits[] = {"chaos:deaf", "chaos:hangs", "chaos:refuses", "chaos"};
bool Revokes(int seed) { return seed % 2 == 0; }
std::string RevokingExperiment(int seed) {
  return fmt::format(
      R"(
name = "chaos-{0}"
trials = 1
seed = {0}
policies = ["equal-share"]
elasticity = ["malleable"]
machine.actuator = "{1}"
sampling.period_ms = 50
trace.file = "late.csv"
workload = [
  {{ name = "honest", model = "lenet5", batch = 4, steps = 40, cores = {{ min = 1, max = 1 }} }},
  {{ name = "culprit", model = "{2}", steps = 400, cores = {{ min = 1 }} }},
  {{ name = "chaos", model = "chaos", steps = 400, cores = {{ min = 1 }} }},
]
)",
      seed, seed % 3 == 0 ? "affinity" : ToString(BestActuator()),
      kCulprits[static_cast<size_t>(seed / 2) % std::size(kCulprits)]);
}

// The others: one honest tenant and two that are not, by any policy. Here the honest one's cores
// may be revoked too, so the deadline is longer than the default.
std::string MixedExperiment(int seed) {
  const std::span<const PolicyInfo> policies = Policies();
  std::vector<std::string> names;
  for (const PolicyInfo& policy : policies) {
    // The scripted policy wants a timetable, and of chaos there is no profile.
    if (policy.name != "scripted" && !policy.needs_speed) names.emplace_back(policy.name);
  }
  constexpr const char* kElasticities[] = {"malleable", "malleable", "rigid", "moldable"};
  return fmt::format(
      R"(
name = "chaos-{0}"
trials = 1
seed = {0}
policies = ["{1}"]
elasticity = ["{2}"]
machine.actuator = "{3}"
machine.revocation_deadline_ms = 1000
sampling.period_ms = 50
trace.file = "early.csv"
workload = [
  {{ name = "honest", model = "lenet5", batch = 4, steps = 40, cores = {{ min = 1 }} }},
  {{ name = "chaos", model = "chaos", steps = 200, cores = {{ min = 1 }} }},
]
)",
      seed, names[static_cast<size_t>(seed / 2) % names.size()],
      kElasticities[(static_cast<size_t>(seed) / 2) % 4],
      seed % 3 == 0 ? "affinity" : ToString(BestActuator()));
}

// Made, run and recorded as `cosched run` does it.
std::filesystem::path RunOne(const std::filesystem::path& folder, int seed) {
  const std::filesystem::path file = folder / fmt::format("{}.toml", seed);
  WriteText(file, Revokes(seed) ? RevokingExperiment(seed) : MixedExperiment(seed));
  const Topology topology = Topology::ThisMachine();
  const ExperimentConfig config = LoadConfig(file, {}, topology);
  const Plan plan = MakePlan(config);
  const RunContext context = {.topology = topology, .command_line = "test", .scheduling = ""};
  RunFolder run = RunFolder::Create(folder / "results", SinglePoint(config), context);
  const HostFactory hosts = {.make_host = [&config](const auto& logs, bool) {
    return std::make_unique<WatchedHost>(logs, config);
  }};
  const HarnessOptions options = {.run = run.path(), .topology = topology, .hosts = hosts};
  const HarnessResult result = RunCells(config, plan, plan.cells, options);
  EXPECT_EQ(result.failed, 0) << "a cell was given up, seed " << seed;
  EXPECT_EQ(result.done + result.with_failures, 1);
  run.Finish("done");
  WriteSummary(run.path());
  return run.path();
}

struct Findings {
  std::map<std::string, int> ends;        // By state and reason.
  int overdue = 0;                        // Were killed because of a deadline, and …
  int taken_over = 0;                     // … the cores that they did not leave went to others.
  std::vector<double> left_ms;            // From being told to leave cores to having left them.
  std::vector<double> after_deadline_ms;  // … from the deadline to the release, if overdue.
  std::vector<double> after_death_ms;     // From the last step to the release, if it just died.
};

struct Ends {
  std::set<int64_t> overdue, died;
};
Ends ReadJobs(const std::filesystem::path& cell, Findings* findings) {
  Ends ends;
  CsvReader jobs(cell / "jobs.csv");
  const size_t id = jobs.Column("job_id"), workload = jobs.Column("workload"),
               state = jobs.Column("state"), reason = jobs.Column("reason");
  while (jobs.Next()) {
    const std::string why(jobs.Text(reason));
    if (jobs.Text(workload) == "honest") {
      EXPECT_EQ(jobs.Text(state), "finished") << cell << ": " << why;
    }
    if (why.starts_with("did not leave cores")) ends.overdue.insert(jobs.Integer(id));
    if (why.starts_with("was killed") || why.starts_with("exited")) {
      ends.died.insert(jobs.Integer(id));
    }
    ++findings->ends[std::string(jobs.Text(state)) + (why.empty() ? "" : ": " + why.substr(0, 30))];
  }
  return ends;
}

// The last sign that a job was alive, in seconds.
std::map<int64_t, double> ReadLastSteps(const std::filesystem::path& cell) {
  std::map<int64_t, double> last;
  CsvReader steps(cell / "steps.csv");
  const size_t job = steps.Column("job_id"), time = steps.Column("time");
  while (steps.Next()) last[steps.Integer(job)] = steps.Number(time);
  return last;
}

void Read(const std::filesystem::path& run, Duration deadline, Findings* findings) {
  const std::filesystem::path cell = CellFolder(run, WholeCells(run).at(0));
  const Ends ends = ReadJobs(cell, findings);
  const std::map<int64_t, double> last_steps = ReadLastSteps(cell);
  std::map<int64_t, double> told;      // Since when a job has had to leave cores …
  std::map<int64_t, CpuSet> to_leave;  // … and which.
  std::map<int64_t, CpuSet>
      unclaimed;  // Which overdue jobs did not leave and nobody has had since.
  CsvReader grants(cell / "grants.csv");
  const size_t time = grants.Column("time"), job = grants.Column("job_id"),
               kind = grants.Column("kind"), cores = grants.Column("cores"),
               owned = grants.Column("owned");
  while (grants.Next()) {
    const int64_t who = grants.Integer(job);
    const double now = grants.Number(time);
    const CpuSet wanted = *CpuSet::Parse(grants.Text(cores));
    const CpuSet had = *CpuSet::Parse(grants.Text(owned));
    const bool released = grants.Text(kind) == "released";
    for (auto& [culprit, left] : unclaimed) left = left - had;
    if (released && ends.died.contains(who) && last_steps.contains(who)) {
      findings->after_death_ms.push_back((now - last_steps.at(who)) * 1e3);
    }
    if (grants.Text(kind) == "granted" && wanted != had) {
      told.emplace(who, now);
      to_leave[who] = had - wanted;
      continue;
    }
    if (!told.contains(who)) continue;
    const double taken_ms = (now - told[who]) * 1e3;
    findings->left_ms.push_back(taken_ms);
    if (released && ends.overdue.contains(who)) {
      findings->after_deadline_ms.push_back(taken_ms - ToSeconds(deadline) * 1e3);
      EXPECT_GE(findings->after_deadline_ms.back(), 0) << "killed before its deadline: " << run;
      unclaimed[who] = to_leave[who];
    }
    told.erase(who);
  }
  EXPECT_EQ(unclaimed.size(), ends.overdue.size()) << "killed for it, but not released: " << run;
  findings->overdue += static_cast<int>(ends.overdue.size());
  for (const auto& [culprit, left] : unclaimed) {
    EXPECT_TRUE(left.Empty()) << run << ": nobody has had cores " << left.ToString()
                              << " since job " << culprit << " was killed for them";
    findings->taken_over += left.Empty() ? 1 : 0;
  }
}

void Print(const std::string& what, std::vector<double> values) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  const auto at = [&values](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::cout << fmt::format("{}: {} times, p50 {:.1f} ms, p99 {:.1f} ms, max {:.1f} ms\n", what,
                           values.size(), at(0.5), at(0.99), at(1));
}

TEST(ChaosTest, TwoHundredSeededRunsEndWithRecordsThatHold) {
  const TemporaryFolder folder;
  WriteText(folder.path() / "early.csv", "arrival_s,workload\n0,chaos\n0.06,honest\n0.1,chaos\n");
  // Once the culprit has begun to misbehave.
  WriteText(folder.path() / "late.csv", "arrival_s,workload\n0,culprit\n0.4,honest\n0.5,chaos\n");
  std::atomic<int> next{1};
  std::mutex mutex;
  Findings findings;
  std::vector<std::thread> threads;
  for (int i = 0; i < kAtOnce; ++i) {
    threads.emplace_back([&] {
      for (int seed = next++; seed <= kRuns; seed = next++) {
        const std::filesystem::path run = RunOne(folder.path(), seed);
        const std::lock_guard<std::mutex> lock(mutex);
        Read(run, Revokes(seed) ? ExperimentConfig().timeouts.revocation : seconds(1), &findings);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& [end, count] : findings.ends) std::cout << fmt::format("{:>5} {}\n", count, end);
  Print("cores left after being told to", findings.left_ms);
  Print("cores back after the deadline of a revocation", findings.after_deadline_ms);
  Print("cores back after the last step of one that died", findings.after_death_ms);
  std::cout << fmt::format("{} of {} overdue jobs' cores went to others; {} masks seen\n",
                           findings.taken_over, findings.overdue, masks_seen.load());
  if (Topology::ThisMachine().OneThreadPerCore().Count() > 1) {
    EXPECT_GT(findings.overdue, 0) << "no run reached the deadline of a revocation";
  }
  if (BestActuator() == Actuator::kCpuset) {
    EXPECT_GT(masks_seen, 0);
  }
  const std::string check =
      fmt::format("python3 {} {} > {}", InSource("tests/check_results.py"),
                  (folder.path() / "results").string(), (folder.path() / "check.txt").string());
  EXPECT_EQ(std::system(check.c_str()), 0) << ReadText(folder.path() / "check.txt").substr(0, 5000);
}

// Each by name, alone, told to leave all cores but one as soon as it is up: it ends as it must.
TEST(ChaosTest, EveryBehaviourIsSurvived) {
  const TemporaryFolder folder;
  const Topology topology = Topology::ThisMachine();
  for (const ChaosBehaviour& behaviour : ChaosBehaviours()) {
    ProcessHost host({.binary = CoschedBinary(),
                      .log_directory = folder.path(),
                      .topology = topology,
                      .actuator = BestActuator(),
                      .cores = topology.OneThreadPerCore(),
                      .timeouts = {.heartbeat = seconds(1), .start = seconds(3)}});
    ExpectOwnEnd(behaviour.name, RunAlone(&host, behaviour.name, kLongEnough));
  }
}

}  // namespace
}  // namespace cosched
