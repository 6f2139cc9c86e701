#include "experiments/records/sample_sums.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "experiments/records/csv.h"

namespace cosched {
namespace {

struct SampleRow {
  double time = 0;
  int64_t job = 0;
  std::vector<int> cores;
  int runnable = 0;
};

bool IsEarlier(const SampleRow& a, const SampleRow& b) { return a.time < b.time; }

// Integrates R(t) and C(t), both constant between changes; cores are counted by how many jobs hold
// each. A job is summed up when it changes, so that a sample costs the same however many there are.
class Integrator {
 public:
  explicit Integrator(SampleSums* sums) : sums_(sums) {}

  // Samples come in order of time; the last of a job says that it has nothing.
  void Set(double time, int64_t job, std::vector<int> cores, int runnable) {
    if (time > time_) sums_->machine.Add(time - time_, distinct_, runnable_);
    time_ = std::max(time_, time);
    JobLoad& load = jobs_[job];
    if (time > load.since && !(load.cores.empty() && load.runnable == 0)) {
      sums_->tenants[job].Add(time - load.since, static_cast<int>(load.cores.size()),
                              load.runnable);
    }
    for (const int core : load.cores) distinct_ -= --holders_[core] == 0;
    for (const int core : cores) distinct_ += ++holders_[core] == 1;
    runnable_ += runnable - load.runnable;
    load = {std::move(cores), runnable, time};
  }

 private:
  struct JobLoad {
    std::vector<int> cores;
    int runnable = 0;
    double since = 0;
  };
  SampleSums* sums_;
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
        spin_time_(reader.Column("spin_time_s")),
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
    raise(spin_time_, &counters->spin_time_s);
    raise(wait_, &counters->run_queue_wait_s);
    raise(switches_, &counters->involuntary_switches);
    raise(migrations_, &counters->migrations);
    raise(throttled_, &counters->throttled_us);
    raise(pressure_, &counters->pressure_us);
  }

  static void Add(const Counters& one, Counters* all) {
    all->run_time_s += one.run_time_s;
    all->spin_time_s += one.spin_time_s;
    all->run_queue_wait_s += one.run_queue_wait_s;
    all->involuntary_switches += one.involuntary_switches;
    all->migrations += one.migrations;
    if (one.throttled_us) all->throttled_us = Or0(all->throttled_us) + *one.throttled_us;
    if (one.pressure_us) all->pressure_us = Or0(all->pressure_us) + *one.pressure_us;
  }

 private:
  static double Or0(double value) { return value; }
  static double Or0(const std::optional<double>& value) { return value.value_or(0); }

  size_t run_time_, spin_time_, wait_, switches_, migrations_, throttled_, pressure_;
};

using SamplesByJob = std::map<int64_t, std::vector<SampleRow>>;  // In order of time.

SamplesByJob ReadSamples(const std::filesystem::path& cell, const std::map<int64_t, JobSpan>& jobs,
                         Counters* sum) {
  CsvReader reader(cell / "samples.csv");
  const size_t time = reader.Column("time"), job = reader.Column("job_id"),
               cores = reader.Column("granted_cores"), runnable = reader.Column("runnable_threads");
  const CounterColumns columns(reader);
  SamplesByJob samples;
  std::map<int64_t, Counters> counters;
  while (reader.Next()) {
    const int64_t id = reader.Integer(job);
    const auto span = jobs.find(id);
    // A sample taken while its job ended must not outlive it.
    if (span == jobs.end() || reader.Number(time) > span->second.finished) continue;
    samples[id].push_back({reader.Number(time), id, reader.Cpus(cores).ToVector(),
                           static_cast<int>(reader.Integer(runnable))});
    columns.Raise(reader, &counters[id]);
  }
  for (const auto& [id, of_job] : counters) CounterColumns::Add(of_job, sum);
  for (auto& [id, rows] : samples) std::stable_sort(rows.begin(), rows.end(), IsEarlier);
  return samples;
}

// At every instant at which a job starts: what the next sample says of each job that has started
// and not ended.
std::vector<SampleRow> SamplesAtStarts(const SamplesByJob& samples,
                                       const std::map<int64_t, JobSpan>& jobs) {
  std::vector<std::pair<double, int64_t>> starts;
  for (const auto& [id, span] : jobs) {
    if (span.started) starts.emplace_back(*span.started, id);
  }
  std::sort(starts.begin(), starts.end());
  std::vector<SampleRow> rows;
  std::vector<int64_t> living;
  for (const auto& [start, job] : starts) {
    living.push_back(job);
    std::erase_if(living, [&, now = start](int64_t id) { return jobs.at(id).finished <= now; });
    for (const int64_t id : living) {
      const auto of_job = samples.find(id);
      if (of_job == samples.end()) continue;
      const auto next =
          std::lower_bound(of_job->second.begin(), of_job->second.end(), start,
                           [](const SampleRow& row, double time) { return row.time < time; });
      if (next == of_job->second.end() || next->time == start) continue;
      rows.push_back(*next);
      rows.back().time = start;
    }
  }
  return rows;
}

// In order of time: the samples, what they say of the starts, and each job's end, with nothing.
std::vector<SampleRow> Changes(SamplesByJob samples, const std::map<int64_t, JobSpan>& jobs) {
  std::vector<SampleRow> changes = SamplesAtStarts(samples, jobs);
  for (auto& [id, rows] : samples) {
    for (SampleRow& row : rows) changes.push_back(std::move(row));
  }
  for (const auto& [id, span] : jobs) changes.push_back({span.finished, id, {}, 0});
  std::stable_sort(changes.begin(), changes.end(), IsEarlier);
  return changes;
}

}  // namespace

void ThreadLoad::Add(double elapsed, int cores, int threads) {
  core_seconds += elapsed * cores;
  excess_seconds += elapsed * std::max(0, threads - cores);
}

double SampleSums::TenantOversubscription() const {
  double excess = 0;
  for (const auto& [job, load] : tenants) excess += load.excess_seconds;
  return machine.core_seconds > 0 ? excess / machine.core_seconds : 0;
}

double SampleSums::WorstTenantOversubscription() const {
  double worst = 0;
  for (const auto& [job, load] : tenants) worst = std::max(worst, load.Oversubscription());
  return worst;
}

SampleSums SumSamples(const std::filesystem::path& cell, const std::map<int64_t, JobSpan>& jobs) {
  SampleSums sums;
  Integrator integrator(&sums);
  for (SampleRow& change : Changes(ReadSamples(cell, jobs, &sums.counters), jobs)) {
    integrator.Set(change.time, change.job, std::move(change.cores), change.runnable);
  }
  return sums;
}

}  // namespace cosched
