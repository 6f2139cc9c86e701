#include "experiments/analysis/metrics.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "experiments/analysis/device_time.h"
#include "experiments/analysis/granted_time.h"
#include "experiments/analysis/memory_moves.h"
#include "experiments/analysis/statistics.h"
#include "experiments/records/cell_file.h"
#include "experiments/records/output_file.h"
#include "experiments/records/rows.h"
#include "experiments/records/sample_sums.h"
#include "experiments/records/table.h"

namespace cosched {
namespace {

constexpr size_t kMostReserved = 100'000'000;

// Sums over a cell's jobs, as they are read.
class JobSums {
 public:
  // jobs: about so many; a damaged file may say anything.
  explicit JobSums(size_t jobs) { turnarounds_.reserve(std::min(jobs, kMostReserved)); }

  void Add(const JobRow& job, bool serves) {
    const double submitted = job.submission_time, finished = job.finish_time;
    first_ = jobs_ == 0 ? submitted : std::min(first_, submitted);
    last_ = jobs_ == 0 ? finished : std::max(last_, finished);
    ++jobs_;
    images_known_ = images_known_ && job.images.has_value();
    images_ += static_cast<double>(job.images.value_or(0));
    resizes_ += job.resizes;
    failed_ += job.state == "failed";
    rejected_ += job.state == "rejected";
    cancelled_ += job.state == "cancelled";
    if (job.state != "finished") return;
    services_finished_ += serves;
    if (serves) return;
    const double turnaround = finished - submitted, waiting = job.waiting_time.value_or(0);
    waiting_ += waiting;
    longest_wait_ = std::max(longest_wait_, waiting);
    execution_ += job.execution_time.value_or(0);
    turnarounds_.push_back(turnaround);
    stretch_ += job.stretch.value_or(0);
    if (job.alone_s && *job.alone_s > 0) {
      slowdown_ += turnaround / *job.alone_s;
      ++slowdowns_;
    }
    AddProgress(job, turnaround);
  }

  // Once, after all jobs.
  void Put(CellSummary* summary) {
    const auto finished = static_cast<double>(turnarounds_.size());
    const auto mean = [finished](double sum) { return finished > 0 ? sum / finished : 0; };
    summary->jobs = jobs_;
    summary->finished = static_cast<int>(turnarounds_.size()) + services_finished_;
    summary->failed = failed_;
    summary->rejected = rejected_;
    summary->cancelled = cancelled_;
    summary->resizes = resizes_;
    summary->makespan_s = last_ - first_;
    summary->mean_wait_s = mean(waiting_);
    summary->mean_execution_s = mean(execution_);
    summary->max_wait_s = longest_wait_;
    summary->mean_turnaround_s = mean(Sum(turnarounds_));
    summary->p95_turnaround_s = NearestRank(&turnarounds_, 95);
    summary->mean_stretch = mean(stretch_);
    if (slowdowns_ > 0) summary->mean_slowdown = slowdown_ / slowdowns_;
    summary->jain_index = FairnessOfProgress();
    if (images_known_) summary->images_per_s = 0;
    if (summary->makespan_s <= 0) return;
    summary->throughput_jobs_per_hour = finished * 3600 / summary->makespan_s;
    if (images_known_) summary->images_per_s = images_ / summary->makespan_s;
  }

 private:
  // Progress of the finished jobs of one workload. x = steps / turnaround.
  struct Progress {
    double best = std::numeric_limits<double>::infinity();  // Execution time per step.
    double sum = 0;                                         // Sum of x ...
    double squares = 0;                                     // ... and of x².
    int count = 0;
  };

  static double Sum(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  }

  // 0 if empty. Puts the values in order.
  static double NearestRank(std::vector<double>* values, size_t percent) {
    if (values->empty()) return 0;
    const size_t rank = (values->size() * percent + 99) / 100;
    const auto place = values->begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(values->begin(), place, values->end());
    return *place;
  }

  // A workload whose steps were not counted is taken as one step.
  void AddProgress(const JobRow& job, double turnaround) {
    const double steps = std::max<double>(1, static_cast<double>(job.steps));
    auto place = progress_.find(job.workload);
    if (place == progress_.end()) place = progress_.emplace(job.workload, Progress()).first;
    Progress& progress = place->second;
    progress.best = std::min(progress.best, job.execution_time.value_or(0) / steps);
    if (turnaround <= 0) return;
    const double x = steps / turnaround;
    progress.sum += x;
    progress.squares += x * x;
    ++progress.count;
  }

  // Jain's index of best × x, which is known only now.
  double FairnessOfProgress() const {
    double sum = 0, squares = 0;
    int count = 0;
    for (const auto& [workload, progress] : progress_) {
      if (progress.count == 0) continue;
      sum += progress.best * progress.sum;
      squares += progress.best * progress.best * progress.squares;
      count += progress.count;
    }
    return JainIndex(sum, squares, count);
  }

  int jobs_ = 0, failed_ = 0, rejected_ = 0, cancelled_ = 0, resizes_ = 0;
  int services_finished_ = 0, slowdowns_ = 0;
  double first_ = 0, last_ = 0;
  double waiting_ = 0, longest_wait_ = 0, execution_ = 0, stretch_ = 0, slowdown_ = 0, images_ = 0;
  std::vector<double> turnarounds_;  // Those of the finished jobs.
  bool images_known_ = true;
  std::map<std::string, Progress, std::less<>> progress_;
};

// REQUIRES: the makespan is known.
void SummarizeSamples(const SampleSums& sums, int machine_cores, CellSummary* summary) {
  const Counters& counters = sums.counters;
  const double machine_seconds = machine_cores * summary->makespan_s;
  summary->core_utilization = machine_seconds > 0 ? sums.WorkSeconds() / machine_seconds : 0;
  summary->used_core_s = sums.WorkSeconds();
  summary->oversubscription = sums.machine.Oversubscription();
  summary->tenant_oversubscription = sums.TenantOversubscription();
  summary->worst_tenant_oversubscription = sums.WorstTenantOversubscription();
  const double core_seconds = sums.machine.core_seconds;
  const auto per_core_second = [core_seconds](double sum) {
    return core_seconds > 0 ? sum / core_seconds : 0;
  };
  summary->runqueue_wait_s_per_core_s = per_core_second(counters.run_queue_wait_s);
  summary->involuntary_switches_per_core_s = per_core_second(counters.involuntary_switches);
  summary->migrations_per_core_s = per_core_second(counters.migrations);
  if (core_seconds <= 0) return;
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

// Jobs that are less elastic than their cell, because their trace says so.
std::set<int64_t> LessElastic(const std::filesystem::path& cell, Elasticity elasticity) {
  RowReader<JobRow> reader(cell, &JobRow::job_id, &JobRow::elasticity);
  std::set<int64_t> jobs;
  while (const JobRow* job = reader.Next()) {
    if (job->elasticity != ToString(elasticity)) jobs.insert(job->job_id);
  }
  return jobs;
}

}  // namespace

std::string CellSummary::MarksText() const {
  std::string text;
  for (const std::string& mark : marks) text += (text.empty() ? "" : "; ") + mark;
  return text;
}

CellSummary Summarize(const std::filesystem::path& run, const CellKey& key) {
  const std::filesystem::path folder = CellFolder(run, key);
  const CellFile cell = ReadCellFile(folder);
  const std::set<int64_t> services(cell.services.begin(), cell.services.end());
  CellSummary summary;
  summary.key = key;
  summary.status = cell.status;
  summary.reason = cell.reason;
  summary.marks = cell.marks;
  const bool sampled = HasTable<SampleRow>(folder);
  JobSums jobs(static_cast<size_t>(cell.submitted.value_or(0)));
  std::map<int64_t, JobSpan> spans;  // What samples need.
  RowReader<JobRow> reader(folder, &JobRow::job_id, &JobRow::workload, &JobRow::submission_time,
                           &JobRow::starting_time, &JobRow::finish_time, &JobRow::waiting_time,
                           &JobRow::execution_time, &JobRow::stretch, &JobRow::resizes,
                           &JobRow::state, &JobRow::steps, &JobRow::images, &JobRow::alone_s);
  while (const JobRow* job = reader.Next()) {
    jobs.Add(*job, services.contains(job->job_id));
    if (sampled) spans[job->job_id] = {job->starting_time, job->finish_time};
  }
  jobs.Put(&summary);
  if (sampled) SummarizeSamples(SumSamples(folder, spans), cell.machine_cores.Count(), &summary);
  summary.granted_core_s = GrantedCoreSeconds(folder);
  summary.device_busy_s = DeviceSeconds(folder);
  if (const std::optional<MemoryMoves> moved = SumMemoryMoves(folder)) {
    summary.node_moves = moved->moves;
    summary.memory_moved_mb = static_cast<double>(moved->bytes) * 1e-6;
  }
  summary.services = SummarizeRequests(folder);
  return summary;
}

ThreadExcess FindThreadExcess(const std::filesystem::path& run, const CellKey& key) {
  const std::filesystem::path cell = CellFolder(run, key);
  if (!HasTable<SampleRow>(cell)) return {};
  const std::set<int64_t> others = LessElastic(cell, key.elasticity);
  RowReader<SampleRow> reader(cell, &SampleRow::job_id, &SampleRow::granted,
                              &SampleRow::runnable_threads, &SampleRow::settling);
  ThreadExcess result;
  while (const SampleRow* sample = reader.Next()) {
    if (sample->settling || others.contains(sample->job_id)) continue;
    const int excess = sample->runnable_threads - sample->granted;
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
        if (!trial || !std::filesystem::exists(folder / kCellFileName)) continue;
        key.trial = *trial;
        cells.push_back(key);
      }
    }
  }
  std::sort(cells.begin(), cells.end());
  return cells;
}

void WriteSummary(const std::filesystem::path& run) {
  TableText<CellKey, CellSummary> summaries;
  TableText<CellKey, ServiceSummary> services;
  for (const CellKey& key : WholeCells(run)) {
    const CellSummary summary = Summarize(run, key);
    summaries.Add(key, summary);
    for (const ServiceSummary& service : summary.services) services.Add(key, service);
  }
  WriteFileWhole(run / "summary.csv", summaries.Text());
  if (!services.Empty()) WriteFileWhole(run / "services.csv", services.Text());
}

}  // namespace cosched
