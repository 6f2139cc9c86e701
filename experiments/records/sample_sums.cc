#include "experiments/records/sample_sums.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {
namespace {

// What a job has from a time on.
struct LoadChange {
  double time = 0;
  int64_t job = 0;
  std::vector<int> cores;
  int runnable = 0;
};

bool IsEarlier(const LoadChange& a, const LoadChange& b) { return a.time < b.time; }

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

double Or0(double value) { return value; }
double Or0(const std::optional<double>& value) { return value.value_or(0); }

// The most that was seen: counters only grow, and the row of a tenant's end may lack some.
void Raise(const SampleRow& sample, Counters* counters) {
  const auto raise = [](const auto& cell, auto* value) {
    if (cell) *value = std::max(Or0(*value), static_cast<double>(*cell));
  };
  raise(sample.run_time_s, &counters->run_time_s);
  raise(sample.spin_time_s, &counters->spin_time_s);
  raise(sample.run_queue_wait_s, &counters->run_queue_wait_s);
  raise(sample.involuntary_switches, &counters->involuntary_switches);
  raise(sample.migrations, &counters->migrations);
  raise(sample.throttled_us, &counters->throttled_us);
  raise(sample.pressure_us, &counters->pressure_us);
}

void Add(const Counters& one, Counters* all) {
  all->run_time_s += one.run_time_s;
  all->spin_time_s += one.spin_time_s;
  all->run_queue_wait_s += one.run_queue_wait_s;
  all->involuntary_switches += one.involuntary_switches;
  all->migrations += one.migrations;
  if (one.throttled_us) all->throttled_us = Or0(all->throttled_us) + *one.throttled_us;
  if (one.pressure_us) all->pressure_us = Or0(all->pressure_us) + *one.pressure_us;
}

using SamplesByJob = std::map<int64_t, std::vector<LoadChange>>;  // In order of time.

SamplesByJob ReadSamples(const std::filesystem::path& cell, const std::map<int64_t, JobSpan>& jobs,
                         Counters* sum) {
  RowReader<SampleRow> reader(cell, &SampleRow::time, &SampleRow::job_id, &SampleRow::granted_cores,
                              &SampleRow::runnable_threads, &SampleRow::run_time_s,
                              &SampleRow::spin_time_s, &SampleRow::run_queue_wait_s,
                              &SampleRow::involuntary_switches, &SampleRow::migrations,
                              &SampleRow::throttled_us, &SampleRow::pressure_us);
  SamplesByJob samples;
  std::map<int64_t, Counters> counters;
  while (const SampleRow* sample = reader.Next()) {
    const int64_t id = sample->job_id;
    const auto span = jobs.find(id);
    // A sample taken while its job ended must not outlive it.
    if (span == jobs.end() || sample->time > span->second.finished) continue;
    samples[id].push_back(
        {sample->time, id, sample->granted_cores.ToVector(), sample->runnable_threads});
    Raise(*sample, &counters[id]);
  }
  for (const auto& [id, of_job] : counters) Add(of_job, sum);
  for (auto& [id, rows] : samples) std::stable_sort(rows.begin(), rows.end(), IsEarlier);
  return samples;
}

// At every instant at which a job starts: what the next sample says of each job that has started
// and not ended.
std::vector<LoadChange> SamplesAtStarts(const SamplesByJob& samples,
                                        const std::map<int64_t, JobSpan>& jobs) {
  std::vector<std::pair<double, int64_t>> starts;
  for (const auto& [id, span] : jobs) {
    if (span.started) starts.emplace_back(*span.started, id);
  }
  std::sort(starts.begin(), starts.end());
  std::vector<LoadChange> rows;
  std::vector<int64_t> living;
  for (const auto& [start, job] : starts) {
    living.push_back(job);
    std::erase_if(living, [&, now = start](int64_t id) { return jobs.at(id).finished <= now; });
    for (const int64_t id : living) {
      const auto of_job = samples.find(id);
      if (of_job == samples.end()) continue;
      const auto next =
          std::lower_bound(of_job->second.begin(), of_job->second.end(), start,
                           [](const LoadChange& row, double time) { return row.time < time; });
      if (next == of_job->second.end() || next->time == start) continue;
      rows.push_back(*next);
      rows.back().time = start;
    }
  }
  return rows;
}

// In order of time: the samples, what they say of the starts, and each job's end, with nothing.
std::vector<LoadChange> Changes(SamplesByJob&& samples, const std::map<int64_t, JobSpan>& jobs) {
  std::vector<LoadChange> changes = SamplesAtStarts(samples, jobs);
  for (auto& [id, rows] : samples) {
    for (LoadChange& row : rows) changes.push_back(std::move(row));
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
  for (LoadChange& change : Changes(ReadSamples(cell, jobs, &sums.counters), jobs)) {
    integrator.Set(change.time, change.job, std::move(change.cores), change.runnable);
  }
  return sums;
}

}  // namespace cosched
