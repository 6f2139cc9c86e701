// Writes a made-up run through the real CellRecords, for the tests of the checker and of the plots,
// and to look at plots without waiting for a run: write_fixture FOLDER [CORES JOBS TRIALS
// POLICIES]. The world is a caricature (a job's speed is cores^0.9, a tick is 50 ms); only the
// records are real. `write_fixture --columns` prints the columns of each table as JSON instead:
// tests/plots/columns_test.py holds whoever reads tables without C++ to them.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "engine/base/random.h"
#include "experiments/analysis/metrics.h"
#include "experiments/records/cell_records.h"
#include "experiments/records/column.h"
#include "experiments/records/output_file.h"
#include "experiments/records/rows.h"

namespace cosched {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(50);
constexpr Duration kSettle = std::chrono::milliseconds(2);
const std::vector<std::string> kPolicies = {"no-control",    "static-partition", "strict",
                                            "always-attend", "max-prop",         "equal-share"};

struct Options {
  std::filesystem::path folder;
  int cores = 2;
  int jobs = 6;
  int trials = 3;
  int policies = 6;
};

struct FixtureJob {
  Job job;  // With its arrival.
  int64_t steps = 0;
  double done = 0;  // Steps.
  TimePoint last_step;
  CpuSet cores;
  Split split{0, 0};  // That its pools have settled in.
  bool arrived = false;
  bool started = false;
  bool ended = false;
  Duration run_time{0};
  Duration wait{0};

  bool Runs() const { return started && !ended; }
  bool Waits() const { return arrived && !started; }
  int Threads() const {
    return job.elasticity == Elasticity::kMalleable ? cores.Count() : job.request.preferred;
  }
};

CpuSet AllCores(const Options& options) { return CpuSet::Range(0, options.cores - 1); }

double StepsPerSecond(const std::string& workload, int cores) {
  return 6 * std::pow(cores, 0.9) * (workload == "lenet5" ? 1.6 : 1.0);
}

std::shared_ptr<const SpeedCurve> SpeedAlone(const std::string& workload, int cores) {
  std::vector<double> speeds;
  for (int k = 1; k <= cores; ++k) speeds.push_back(StepsPerSecond(workload, k));
  return std::make_shared<const SpeedCurve>(speeds);
}

// The same jobs for every policy and elasticity of a trial.
std::deque<FixtureJob> MakeJobs(const Options& options, int trial, Elasticity elasticity) {
  Random random(static_cast<uint64_t>(trial));
  std::deque<FixtureJob> jobs;
  TimePoint arrival;
  for (int i = 0; i < options.jobs; ++i) {
    FixtureJob job;
    job.job.id = {i};
    job.job.workload = random.Uniform() < 0.6 ? "resnet20" : "lenet5";
    job.job.elasticity = elasticity;
    const int most = std::max(1, options.cores / (i % 3 == 2 ? 2 : 1));
    job.job.request = {1, most, most};
    job.job.arrival = arrival;
    job.steps = (30 + static_cast<int64_t>(random.Below(20))) * std::max(1, options.cores / 2);
    job.job.steps = job.steps;
    job.job.speed = SpeedAlone(job.job.workload, options.cores);
    arrival += FromSeconds(std::max(0.1, random.Normal(2.0, 0.5)));
    jobs.push_back(job);
  }
  return jobs;
}

class Cell {
 public:
  Cell(const Options& options, const CellKey& key)
      : options_(options),
        key_(key),
        random_(static_cast<uint64_t>(key.trial)),
        records_(options.folder, key, AllCores(options)),
        jobs_(MakeJobs(options, key.trial, key.elasticity)) {}

  void Run() {
    while (std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return !job.ended; })) {
      now_ += kTick;
      Arrive();
      Work();
    }
    records_.Finish("done", "");
  }

 private:
  void Arrive() {
    for (FixtureJob& job : jobs_) {
      if (job.arrived || job.job.arrival > now_) continue;
      job.arrived = true;
      records_.OnSubmitted(now_, job.job);
      Decide("job-arrived " + std::to_string(job.job.id.value));
    }
  }

  CpuSet Free() const {
    CpuSet free = AllCores(options_);
    for (const FixtureJob& job : jobs_) {
      if (job.Runs()) free = free - job.cores;
    }
    return free;
  }

  static CpuSet Take(const CpuSet& free, int count) {
    CpuSet taken;
    for (const int cpu : free) {
      if (count-- > 0) taken.Add(cpu);
    }
    return taken;
  }

  // The cores of every job that runs or may start now; a job that is left out stays as it is.
  std::map<JobId, CpuSet> Allocate() const {
    std::map<JobId, CpuSet> result;
    if (key_.policy == "equal-share") return EqualShare();
    CpuSet free = Free();
    const CpuSet all = AllCores(options_);
    const int slice = std::max(1, options_.cores / 2);
    for (const FixtureJob& job : jobs_) {
      if (!job.Waits()) continue;
      int want = job.job.request.preferred;
      if (key_.policy == "static-partition") want = std::min(want, slice);
      if (key_.policy == "always-attend") want = std::min(want, std::max(1, free.Count()));
      if (key_.policy == "max-prop") want = std::max(1, std::min(want, free.Count() / 2));
      const CpuSet cores = Take(key_.policy == "no-control" ? all : free, want);
      if (cores.Count() < want) break;
      free = free - cores;
      result[job.job.id] = cores;
    }
    return result;
  }

  std::map<JobId, CpuSet> EqualShare() const {
    std::vector<const FixtureJob*> present;
    for (const FixtureJob& job : jobs_) {
      if ((job.Runs() || job.Waits()) && static_cast<int>(present.size()) < options_.cores) {
        present.push_back(&job);
      }
    }
    // Everybody keeps as many of his cores as he may, then takes what the others left.
    std::map<JobId, CpuSet> result;
    CpuSet free = AllCores(options_);
    std::map<JobId, int> counts;
    int cores = options_.cores;
    for (size_t i = 0; i < present.size(); ++i) {
      const int left = static_cast<int>(present.size() - i);
      const int count = std::min((cores + left - 1) / left, present[i]->job.request.max);
      counts[present[i]->job.id] = count;
      cores -= count;
      result[present[i]->job.id] = Take(present[i]->cores, count);
      free = free - result[present[i]->job.id];
    }
    for (auto& [id, kept] : result) {
      const CpuSet more = Take(free, counts[id] - kept.Count());
      free = free - more;
      kept = kept | more;
    }
    return result;
  }

  void Decide(const std::string& event) {
    std::map<JobId, CpuSet> changes = Allocate();
    std::string text;
    for (const FixtureJob& job : jobs_) {
      if (job.Runs() && changes.count(job.job.id) && changes[job.job.id] == job.cores) {
        changes.erase(job.job.id);
      }
    }
    for (const auto& [id, cores] : changes) {
      text += (text.empty() ? "" : " ") + std::to_string(id.value) + "=" + cores.ToString();
    }
    records_.OnDecision(now_, ++decision_, event, text, std::chrono::microseconds(20));
    Apply(changes);
  }

  // Everybody who runs leaves what he must first, then all get what they shall have.
  void Apply(const std::map<JobId, CpuSet>& changes) {
    const TimePoint decided = now_;
    Revoke(changes);
    std::vector<FixtureJob*> granted;
    for (FixtureJob& job : jobs_) {
      const auto change = changes.find(job.job.id);
      if (change == changes.end() || job.cores == change->second) continue;
      job.cores = change->second;
      granted.push_back(&job);
      if (job.started) {
        records_.OnGrant(now_, job.job.id,
                         Place::Whole(job.cores, DefaultSplit(job.cores.Count())));
      } else {
        records_.OnStarted(now_, job.job.id, Place::Whole(job.cores, DefaultSplit(job.Threads())));
        job.started = true;
        job.last_step = now_;
      }
    }
    if (granted.empty()) return;
    now_ += kSettle;
    for (FixtureJob* job : granted) {
      records_.OnSettled(now_, job->job.id, Place::Whole(job->cores, {}), decision_,
                         now_ - decided);
      Resized(job);
    }
  }

  void Revoke(const std::map<JobId, CpuSet>& changes) {
    std::vector<FixtureJob*> shrunk;
    for (FixtureJob& job : jobs_) {
      const auto change = changes.find(job.job.id);
      if (change == changes.end() || !job.Runs()) continue;
      const CpuSet kept = job.cores & change->second;
      if (kept == job.cores || kept.Empty()) continue;
      job.cores = kept;
      shrunk.push_back(&job);
      records_.OnGrant(now_, job.job.id, Place::Whole(kept, DefaultSplit(kept.Count())));
    }
    if (shrunk.empty()) return;
    now_ += kSettle;
    for (FixtureJob* job : shrunk) {
      records_.OnActuation({job->job.id, now_, job->cores, "cpuset", kSettle / 2, {}});
      // A job that will also get cores is not where the decision wants it yet.
      const bool complete = job->cores == changes.at(job->job.id);
      records_.OnSettled(now_, job->job.id, Place::Whole(job->cores, {}), complete ? decision_ : 0,
                         kSettle);
      Resized(job);
    }
  }

  void Resized(FixtureJob* job) {
    if (job->job.elasticity != Elasticity::kMalleable) return;
    const Split after = DefaultSplit(job->cores.Count());
    records_.OnResize(
        {job->job.id, now_, "grant", job->split, after, job->cores, "Conv2D", kSettle});
    job->split = after;
  }

  int Sharers(const FixtureJob& job) const {
    int sharers = 0;
    for (const FixtureJob& other : jobs_) {
      sharers += other.Runs() && !(other.cores & job.cores).Empty();
    }
    return std::max(1, sharers);
  }

  void Work() {
    for (FixtureJob& job : jobs_) {
      if (!job.Runs()) continue;
      const int cores = job.cores.Count();
      const double penalty = job.Threads() > cores ? 0.85 : 1.0;
      const double rate = StepsPerSecond(job.job.workload, cores) * penalty / Sharers(job);
      Progress(&job, rate * ToSeconds(kTick) * random_.Uniform(0.93, 1.07));
      Sample(&job);
    }
    for (FixtureJob& job : jobs_) {
      if (!job.Runs() || job.done < static_cast<double>(job.steps)) continue;
      records_.OnEnded(now_, job.job.id, JobEnd::kFinished, "");
      job.ended = true;
      job.cores = CpuSet();
      Decide("job-finished " + std::to_string(job.job.id.value));
    }
  }

  void Progress(FixtureJob* job, double steps) {
    const auto before = static_cast<int64_t>(job->done);
    job->done = std::min(job->done + steps, static_cast<double>(job->steps));
    const auto after = static_cast<int64_t>(job->done);
    const Duration duration = (now_ - job->last_step) / std::max<int64_t>(1, after - before);
    for (int64_t step = before; step < after; ++step) {
      job->last_step += duration;
      records_.OnStep({job->job.id, step, job->last_step, duration, job->Threads(),
                       2.3 / (1.0 + 0.1 * static_cast<double>(step))});
    }
  }

  void Sample(FixtureJob* job) {
    job->run_time += kTick * job->cores.Count() / Sharers(*job);
    job->wait += kTick * (Sharers(*job) - 1) * job->Threads() / Sharers(*job);
    TenantSample sample;
    sample.job = job->job.id;
    sample.time = now_;
    sample.granted = job->cores;
    sample.amount = CpuShare::OfCores(sample.granted.Count());
    sample.runnable_threads = sample.compute_threads = job->Threads();
    sample.run_time = job->run_time;
    sample.spin_time = job->run_time / 10;
    sample.run_queue_wait = job->wait;
    sample.involuntary_switches = job->wait / std::chrono::milliseconds(4);
    sample.migrations = sample.involuntary_switches / 3;
    // The tenants of every second policy have a cgroup of their own.
    if (key_.policy.size() % 2 == 0) {
      sample.throttled = Duration(0);
      sample.pressure = job->wait;
    }
    sample.steps = static_cast<int64_t>(job->done);
    sample.images = sample.steps * 32;
    records_.OnSample(sample);
  }

  const Options& options_;
  const CellKey key_;
  Random random_;
  CellRecords records_;
  std::deque<FixtureJob> jobs_;
  TimePoint now_;
  int64_t decision_ = 0;
};

// What the checker and the plots read of the manifest that `cosched run` writes.
nlohmann::ordered_json Manifest(const Options& options) {
  nlohmann::ordered_json manifest = {
      {"format", 1},
      {"status", "done"},
      {"experiment", {{"name", "fixture"}, {"machine", {{"cores", AllCores(options).ToString()}}}}},
      {"cells", options.policies * 2 * options.trials}};
  for (int i = 0; i < options.policies; ++i) {
    const std::string& policy = kPolicies[static_cast<size_t>(i)];
    manifest["policies"].push_back({{"name", policy}, {"oversubscribes", policy == "no-control"}});
  }
  for (int trial = 1; trial <= options.trials; ++trial) {
    nlohmann::ordered_json arrivals = nlohmann::ordered_json::array();
    for (const FixtureJob& job : MakeJobs(options, trial, Elasticity::kRigid)) {
      arrivals.push_back(
          {{"arrival_s", ToSeconds(*job.job.arrival)}, {"workload", job.job.workload}});
    }
    manifest["traces"].push_back(arrivals);
  }
  return manifest;
}

void WriteRun(const Options& options) {
  for (int i = 0; i < options.policies; ++i) {
    for (const Elasticity elasticity : {Elasticity::kRigid, Elasticity::kMalleable}) {
      for (int trial = 1; trial <= options.trials; ++trial) {
        Cell(options, {kPolicies[static_cast<size_t>(i)], elasticity, trial}).Run();
      }
    }
  }
  WriteFileWhole(options.folder / "manifest.json", Manifest(options).dump(2) + "\n");
  WriteSummary(options.folder);
}

const char* NameOf(CellKind kind) {
  switch (kind) {
    case CellKind::kInteger: return "integer";
    case CellKind::kNumber: return "number";
    case CellKind::kText: return "text";
    case CellKind::kCores: return "cores";
  }
  return "";
}

template <typename... Rows>
nlohmann::ordered_json KindsOfColumns() {
  nlohmann::ordered_json kinds;
  const auto add = [&kinds]<typename Row>(const Row& /*row*/) {
    ForEachColumn<Row>([&kinds](size_t, const auto& column) {
      kinds[std::string(column.name)] = NameOf(KindOf<Row>(column));
    });
  };
  (add(Rows()), ...);
  return kinds;
}

nlohmann::ordered_json AllColumns() {
  nlohmann::ordered_json tables;
  std::apply(
      [&tables]<typename... Rows>(const Rows&... /*rows*/) {
        ((tables[std::string(Rows::kFile)] = KindsOfColumns<Rows>()), ...);
      },
      RecordTables());
  tables["summary.csv"] = KindsOfColumns<CellKey, CellSummary>();
  tables["services.csv"] = KindsOfColumns<CellKey, ServiceSummary>();
  return tables;
}

}  // namespace
}  // namespace cosched

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: write_fixture FOLDER [CORES JOBS TRIALS POLICIES] | --columns\n");
    return 2;
  }
  if (argv[1] == std::string("--columns")) {
    std::printf("%s\n", cosched::AllColumns().dump(2).c_str());
    return 0;
  }
  cosched::Options options{argv[1]};
  int* const numbers[] = {&options.cores, &options.jobs, &options.trials, &options.policies};
  for (int i = 2; i < argc && i < 6; ++i) *numbers[i - 2] = std::atoi(argv[i]);
  try {
    std::filesystem::remove_all(options.folder);
    cosched::WriteRun(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_fixture: %s\n", error.what());
    return 1;
  }
  return 0;
}
