#include "experiments/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "experiments/csv.h"
#include "experiments/output_file.h"
#include "experiments/statistics.h"

namespace cosched {
namespace {

struct JobRow {
  int64_t id = 0;
  std::string workload;
  double submitted = 0;
  double finished = 0;
  double waiting = 0;  // These three of started jobs only.
  double execution = 0;
  double stretch = 0;
  std::string state;
  int resizes = 0;
  int64_t steps = 0;
  int64_t images = 0;
};

struct SampleRow {
  double time = 0;
  int64_t job = 0;
  std::vector<int> cores;
  int runnable = 0;
};

// What the kernel has counted for a job, or for all.
struct Counters {
  double run_time_s = 0;
  double run_queue_wait_s = 0;
  double involuntary_switches = 0;
  double migrations = 0;
  std::optional<double> throttled_us;
  std::optional<double> pressure_us;
};

// Of threads on cores, over some time.
struct Load {
  double core_seconds = 0;    // ∫ C dt
  double excess_seconds = 0;  // ∫ max(0, R − C) dt

  void Add(double elapsed, int cores, int threads) {
    core_seconds += elapsed * cores;
    excess_seconds += elapsed * std::max(0, threads - cores);
  }
  double Oversubscription() const { return core_seconds > 0 ? excess_seconds / core_seconds : 0; }
};

// Sums over a cell's samples.
struct SampleSums {
  Load machine;
  std::map<int64_t, Load> tenants;
  Counters counters;
};

struct CellInfo {
  int machine_cores = 0;
  std::string status;
  std::string reason;
  std::vector<std::string> marks;
};

CellInfo ReadCell(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "cell.json";
  std::ifstream stream(path);
  if (!stream)
    throw InputError({path.string(), 0, "", "can't be read", "the folder of a whole cell"});
  try {
    const nlohmann::json json = nlohmann::json::parse(stream);
    const std::string cores = json.at("machine_cores").get<std::string>();
    const std::optional<CpuSet> cpus = CpuSet::Parse(cores);
    if (!cpus || cpus->Empty()) {
      throw InputError({path.string(), 0, "machine_cores", fmt::format("'{}'", cores),
                        "an interval set such as 0-3"});
    }
    return {cpus->Count(), json.at("status").get<std::string>(),
            json.at("reason").get<std::string>(), json.at("marks").get<std::vector<std::string>>()};
  } catch (const nlohmann::json::exception& error) {
    throw InputError({path.string(), 0, "", error.what(), "the cell.json that a run wrote"});
  }
}

std::vector<JobRow> ReadJobs(const std::filesystem::path& folder) {
  CsvReader reader(folder / "jobs.csv");
  const size_t id = reader.Column("job_id"), workload = reader.Column("workload"),
               submitted = reader.Column("submission_time"),
               finished = reader.Column("finish_time"), waiting = reader.Column("waiting_time"),
               execution = reader.Column("execution_time"), stretch = reader.Column("stretch"),
               state = reader.Column("state"), resizes = reader.Column("resizes"),
               steps = reader.Column("steps"), images = reader.Column("images");
  const auto number = [&](size_t column) {
    return reader.Empty(column) ? 0 : reader.Number(column);
  };
  std::vector<JobRow> jobs;
  while (reader.Next()) {
    jobs.push_back({reader.Integer(id), reader.Text(workload), reader.Number(submitted),
                    reader.Number(finished), number(waiting), number(execution), number(stretch),
                    reader.Text(state), static_cast<int>(reader.Integer(resizes)),
                    reader.Integer(steps), reader.Integer(images)});
  }
  return jobs;
}

// Integrates R(t) and C(t), both constant between changes; cores are counted by how many jobs hold
// each.
class Integrator {
 public:
  void Advance(double time, SampleSums* sums) {
    const double elapsed = time - time_;
    time_ = time;
    if (elapsed <= 0) return;
    sums->machine.Add(elapsed, distinct_, runnable_);
    for (const auto& [job, load] : jobs_) {
      sums->tenants[job].Add(elapsed, static_cast<int>(load.cores.size()), load.runnable);
    }
  }

  void Set(int64_t job, std::vector<int> cores, int runnable) {
    JobLoad& load = jobs_[job];
    for (const int core : load.cores) distinct_ -= --holders_[core] == 0;
    for (const int core : cores) distinct_ += ++holders_[core] == 1;
    runnable_ += runnable - load.runnable;
    load = {std::move(cores), runnable};
  }

 private:
  struct JobLoad {
    std::vector<int> cores;
    int runnable = 0;
  };
  std::map<int64_t, JobLoad> jobs_;
  std::map<int, int> holders_;
  double time_ = 0;
  int distinct_ = 0;
  int runnable_ = 0;
};

// Reads the counters of a row of samples.csv.
class CounterColumns {
 public:
  explicit CounterColumns(const CsvReader& reader)
      : run_time_(reader.Column("run_time_s")),
        wait_(reader.Column("run_queue_wait_s")),
        switches_(reader.Column("involuntary_switches")),
        migrations_(reader.Column("migrations")),
        throttled_(reader.Column("throttled_us")),
        pressure_(reader.Column("pressure_us")) {}

  // The most that was seen: counters only grow, and the row of a tenant's end may lack some.
  void Raise(const CsvReader& reader, Counters* counters) const {
    const auto raise = [&reader](size_t column, auto* value) {
      if (!reader.Empty(column)) *value = std::max(Or0(*value), reader.Number(column));
    };
    raise(run_time_, &counters->run_time_s);
    raise(wait_, &counters->run_queue_wait_s);
    raise(switches_, &counters->involuntary_switches);
    raise(migrations_, &counters->migrations);
    raise(throttled_, &counters->throttled_us);
    raise(pressure_, &counters->pressure_us);
  }

  static void Add(const Counters& one, Counters* all) {
    all->run_time_s += one.run_time_s;
    all->run_queue_wait_s += one.run_queue_wait_s;
    all->involuntary_switches += one.involuntary_switches;
    all->migrations += one.migrations;
    if (one.throttled_us) all->throttled_us = Or0(all->throttled_us) + *one.throttled_us;
    if (one.pressure_us) all->pressure_us = Or0(all->pressure_us) + *one.pressure_us;
  }

 private:
  static double Or0(double value) { return value; }
  static double Or0(const std::optional<double>& value) { return value.value_or(0); }

  size_t run_time_, wait_, switches_, migrations_, throttled_, pressure_;
};

// Each job's samples, and one more at its end with nothing.
std::vector<SampleRow> ReadSamples(const std::filesystem::path& folder,
                                   const std::vector<JobRow>& jobs, Counters* sum) {
  CsvReader reader(folder / "samples.csv");
  const size_t time = reader.Column("time"), job = reader.Column("job_id"),
               cores = reader.Column("granted_cores"), runnable = reader.Column("runnable_threads");
  const CounterColumns columns(reader);
  std::map<int64_t, double> ends;
  for (const JobRow& row : jobs) ends[row.id] = row.finished;
  std::vector<SampleRow> samples;
  std::map<int64_t, Counters> counters;
  while (reader.Next()) {
    const int64_t id = reader.Integer(job);
    const auto end = ends.find(id);
    // A sample taken while its job ended must not outlive it.
    if (end == ends.end() || reader.Number(time) > end->second) continue;
    samples.push_back({reader.Number(time), id, reader.Cpus(cores).ToVector(),
                       static_cast<int>(reader.Integer(runnable))});
    columns.Raise(reader, &counters[id]);
  }
  for (const auto& [id, of_job] : counters) CounterColumns::Add(of_job, sum);
  for (const JobRow& row : jobs) samples.push_back({row.finished, row.id, {}, 0});
  std::stable_sort(samples.begin(), samples.end(),
                   [](const SampleRow& a, const SampleRow& b) { return a.time < b.time; });
  return samples;
}

SampleSums SumSamples(const std::filesystem::path& folder, const std::vector<JobRow>& jobs) {
  SampleSums sums;
  Integrator integrator;
  for (SampleRow& sample : ReadSamples(folder, jobs, &sums.counters)) {
    integrator.Advance(sample.time, &sums);
    integrator.Set(sample.job, std::move(sample.cores), sample.runnable);
  }
  return sums;
}

// See metrics.h. A workload whose steps were not counted is taken as one step.
double FairnessOfProgress(const std::vector<const JobRow*>& jobs) {
  const auto steps = [](const JobRow& job) { return std::max<double>(1, job.steps); };
  std::map<std::string, double> best;
  for (const JobRow* job : jobs) {
    const double step_time = job->execution / steps(*job);
    const auto [entry, added] = best.emplace(job->workload, step_time);
    if (!added) entry->second = std::min(entry->second, step_time);
  }
  std::vector<double> progress;
  for (const JobRow* job : jobs) {
    const double turnaround = job->finished - job->submitted;
    if (turnaround > 0) progress.push_back(steps(*job) * best[job->workload] / turnaround);
  }
  return JainIndex(progress);
}

void SummarizeJobs(const std::vector<JobRow>& jobs, CellSummary* summary) {
  std::vector<const JobRow*> finished;
  std::vector<double> waits, executions, turnarounds, stretches;
  double first = jobs.empty() ? 0 : jobs.front().submitted, last = first, images = 0;
  for (const JobRow& job : jobs) {
    first = std::min(first, job.submitted);
    last = std::max(last, job.finished);
    images += static_cast<double>(job.images);
    summary->resizes += job.resizes;
    summary->failed += job.state == "failed";
    if (job.state != "finished") continue;
    finished.push_back(&job);
    waits.push_back(job.waiting);
    executions.push_back(job.execution);
    turnarounds.push_back(job.finished - job.submitted);
    stretches.push_back(job.stretch);
  }
  summary->jobs = static_cast<int>(jobs.size());
  summary->finished = static_cast<int>(finished.size());
  summary->makespan_s = last - first;
  summary->mean_wait_s = Mean(waits);
  summary->mean_execution_s = Mean(executions);
  summary->mean_turnaround_s = Mean(turnarounds);
  summary->mean_stretch = Mean(stretches);
  summary->jain_index = FairnessOfProgress(finished);
  if (summary->makespan_s <= 0) return;
  summary->throughput_jobs_per_hour = summary->finished * 3600 / summary->makespan_s;
  summary->images_per_s = images / summary->makespan_s;
}

// REQUIRES: the makespan is known.
void SummarizeSamples(const SampleSums& sums, int machine_cores, CellSummary* summary) {
  const Counters& counters = sums.counters;
  if (summary->makespan_s > 0) {
    summary->core_utilization = counters.run_time_s / (machine_cores * summary->makespan_s);
  }
  summary->oversubscription = sums.machine.Oversubscription();
  for (const auto& [job, load] : sums.tenants) {
    summary->worst_tenant_oversubscription =
        std::max(summary->worst_tenant_oversubscription, load.Oversubscription());
  }
  const double core_seconds = sums.machine.core_seconds;
  if (core_seconds <= 0) return;
  summary->runqueue_wait_s_per_core_s = counters.run_queue_wait_s / core_seconds;
  summary->involuntary_switches_per_core_s = counters.involuntary_switches / core_seconds;
  summary->migrations_per_core_s = counters.migrations / core_seconds;
  const auto seconds = [core_seconds](const std::optional<double>& us) -> std::optional<double> {
    if (!us) return std::nullopt;
    return *us * 1e-6 / core_seconds;
  };
  summary->throttled_s_per_core_s = seconds(counters.throttled_us);
  summary->pressure_s_per_core_s = seconds(counters.pressure_us);
}

std::optional<int> ParseTrial(const std::string& name) {
  int trial = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, trial);
  if (error != std::errc() || stop != end || trial < 1) return std::nullopt;
  return trial;
}

std::vector<std::filesystem::path> Folders(const std::filesystem::path& parent) {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  return folders;
}

std::string SummaryRow(const CellSummary& s) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6f}", *value) : "";
  };
  return fmt::format(
      "{},{},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},"
      "{},{},{},{},{},{:.6f},{:.6f},{:.6f},{},{}\n",
      s.key.policy, ToString(s.key.elasticity), s.key.trial, s.makespan_s,
      s.throughput_jobs_per_hour, s.mean_wait_s, s.mean_execution_s, s.mean_turnaround_s,
      s.mean_stretch, s.core_utilization, s.oversubscription, s.runqueue_wait_s_per_core_s,
      s.images_per_s, s.jain_index, s.jobs, s.finished, s.failed, s.resizes, s.status,
      s.worst_tenant_oversubscription, s.involuntary_switches_per_core_s, s.migrations_per_core_s,
      optional(s.throttled_s_per_core_s), optional(s.pressure_s_per_core_s));
}

}  // namespace

CellSummary Summarize(const std::filesystem::path& run, const CellKey& key) {
  const std::filesystem::path folder = CellFolder(run, key);
  const CellInfo cell = ReadCell(folder);
  const std::vector<JobRow> jobs = ReadJobs(folder);
  CellSummary summary;
  summary.key = key;
  summary.status = cell.status;
  summary.reason = cell.reason;
  summary.marks = cell.marks;
  SummarizeJobs(jobs, &summary);
  SummarizeSamples(SumSamples(folder, jobs), cell.machine_cores, &summary);
  return summary;
}

ThreadExcess FindThreadExcess(const std::filesystem::path& run, const CellKey& key) {
  CsvReader reader(CellFolder(run, key) / "samples.csv");
  const size_t granted = reader.Column("granted"), runnable = reader.Column("runnable_threads"),
               settling = reader.Column("settling");
  ThreadExcess result;
  while (reader.Next()) {
    if (reader.Integer(settling) != 0) continue;
    const int excess = static_cast<int>(reader.Integer(runnable) - reader.Integer(granted));
    ++result.samples;
    result.exceeding += excess > 0;
    result.worst = std::max(result.worst, excess);
  }
  return result;
}

std::vector<CellKey> WholeCells(const std::filesystem::path& run) {
  std::vector<CellKey> cells;
  for (const std::filesystem::path& policy : Folders(run)) {
    for (const std::filesystem::path& elasticity : Folders(policy)) {
      CellKey key{policy.filename().string()};
      if (!ParseElasticity(elasticity.filename().string(), &key.elasticity)) continue;
      for (const std::filesystem::path& folder : Folders(elasticity)) {
        const std::optional<int> trial = ParseTrial(folder.filename().string());
        if (!trial || !std::filesystem::exists(folder / "cell.json")) continue;
        key.trial = *trial;
        cells.push_back(key);
      }
    }
  }
  std::sort(cells.begin(), cells.end());
  return cells;
}

void WriteSummary(const std::filesystem::path& run) {
  std::string text =
      "policy,elasticity,trial,makespan_s,throughput_jobs_per_hour,mean_wait_s,mean_execution_s,"
      "mean_turnaround_s,mean_stretch,core_utilization,oversubscription,"
      "runqueue_wait_s_per_core_s,images_per_s,jain_index,jobs,finished,failed,resizes,status,"
      "worst_tenant_oversubscription,involuntary_switches_per_core_s,migrations_per_core_s,"
      "throttled_s_per_core_s,pressure_s_per_core_s\n";
  for (const CellKey& key : WholeCells(run)) text += SummaryRow(Summarize(run, key));
  WriteFileWhole(run / "summary.csv", text);
}

}  // namespace cosched
