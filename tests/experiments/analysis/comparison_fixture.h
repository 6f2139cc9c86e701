#pragma once
// Runs made of cells with a few known facts, for tests of comparisons.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "experiments/analysis/comparison.h"
#include "experiments/records/cell_records.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {

struct CellFacts {
  double seconds = 10;  // Time of its first job, and half of each other.
  int runnable = 2;     // Threads in its first job's only sample; two cores are granted.
  JobEnd end = JobEnd::kFinished;
  std::string status = "done";
  std::string mark = {};
  int jobs = 1;
  int rejected = 0;  // Rejected jobs, the last ones.
};

// What its manifest says. Trials have traces of their own, told apart by `seed`.
struct RunFacts {
  int trials = 3;
  std::string policies = R"("strict")";
  std::string baseline = "";
  std::string elasticity = R"("rigid")";
  std::string backend = "hardware";
  int seed = 1;
  bool one_trace = false;  // The same in every trial, whatever the seed.
  std::string machine = "host-a";
  std::string commit = "c0ffee";
  int jobs = 4;                 // trace.jobs of the configuration.
  std::string records = "{}";   // [records]: which files each cell has.
  std::string more = "";        // Members of the manifest, with a comma before each.
  std::string configured = "";  // The same of its experiment's machine.
  std::string status = "done";
  std::string actuator = "cpuset";
  std::string experiment = "";  // Members of the experiment, with a comma before each.
};

// With every note on one line, however long a temporary folder's name is.
inline std::string Unwrapped(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space || line.empty() || line.back() != ' ') line += space ? ' ' : c;
  }
  return line;
}

class ComparisonTest : public ::testing::Test {
 protected:
  void Write(const CellKey& key, const CellFacts& facts, const std::string& run = "run") {
    std::filesystem::remove_all(CellFolder(Run(run), key));
    CellRecords records(Run(run), key, {0, 1});
    for (int64_t id = 0; id < facts.jobs; ++id) {
      records.OnSubmitted({}, {{id}, "resnet20", {1, 2, 2}, key.elasticity, 0});
      if (id >= facts.jobs - facts.rejected) {
        records.OnEnded({}, {id}, JobEnd::kRejected, "does not fit");
        continue;
      }
      records.OnStarted({}, {id}, Place::Whole({0, 1}, {1, 2}));
      if (id == 0) {
        TenantSample sample;
        sample.job = {0};
        sample.granted = {0, 1};
        sample.amount = CpuShare::OfCores(sample.granted.Count());
        sample.runnable_threads = facts.runnable;
        records.OnSample(sample);
      }
      const double seconds = id == 0 ? facts.seconds : facts.seconds / 2;
      records.OnEnded(TimePoint(FromSeconds(seconds)), {id}, facts.end, "");
    }
    if (!facts.mark.empty()) records.Mark(facts.mark);
    records.Finish(facts.status, facts.status == "done" ? "" : "the policy broke its contract");
  }

  // Trial i takes i seconds more: far more than what the policies differ by.
  void WriteTrials(const std::string& policy, Elasticity elasticity, const CellFacts& facts,
                   int trials = 3, const std::string& run = "run") {
    for (int trial = 1; trial <= trials; ++trial) {
      CellFacts mine = facts;
      mine.seconds += trial;
      Write({policy, elasticity, trial}, mine, run);
    }
  }

  // Trials that differ by much, each a little more than `factor` times the seconds.
  void WriteRatios(const std::string& policy, Elasticity elasticity, double factor, int trials,
                   const std::string& run = "run") {
    for (int trial = 1; trial <= trials; ++trial) {
      const double trace = 5.0 * trial * trial;
      Write({policy, elasticity, trial},
            {.seconds = trace * (factor == 1 ? 1 : factor + 0.001 * trial)}, run);
    }
  }

  void WriteManifest(const RunFacts& facts, const std::string& run = "run") {
    std::string traces;
    for (int trial = 1; trial <= facts.trials; ++trial) {
      traces +=
          fmt::format(R"({}[{{"arrival_s": {}, "workload": "resnet20"}}])", trial == 1 ? "" : ", ",
                      facts.one_trace ? 0 : facts.seed + 0.001 * trial);
    }
    WriteText(Run(run) / "manifest.json",
              fmt::format(R"({{"format": 1, "status": "{}", "experiment": {{"backend": "{}",
"trials": {}, "seed": {}, "policies": [{}], "baseline": "{}", "elasticity": [{}], "trace": {{"jobs": {}}},
"machine": {{"actuator": "{}"{}}}, "records": {}{}}}, "traces": [{}], "build": {{"git_commit": "{}", "build_type": "Release"}},
"host": {{"name": "{}", "cpus": "0-1", "topology": "2 cores"}}{}}})",
                          facts.status, facts.backend, facts.trials, facts.seed, facts.policies,
                          facts.baseline, facts.elasticity, facts.jobs, facts.actuator,
                          facts.configured, facts.records, facts.experiment, traces, facts.commit,
                          facts.machine, facts.more));
  }

  std::filesystem::path Run(const std::string& run = "run") const { return folder_.path() / run; }
  std::string Table() const { return ComparisonTable(Run()); }

  TemporaryFolder folder_;
};

}  // namespace cosched
