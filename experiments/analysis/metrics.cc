#include "experiments/analysis/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "experiments/analysis/statistics.h"
#include "experiments/records/csv.h"
#include "experiments/records/output_file.h"
#include "experiments/records/sample_sums.h"

namespace cosched {
namespace {

struct JobRow {
  int64_t id = 0;
  std::string_view workload;  // Valid while the row is visited.
  double submitted = 0;
  std::optional<double> started;
  double finished = 0;
  double waiting = 0;  // These three of started jobs only.
  double execution = 0;
  double stretch = 0;
  std::string_view state;  // The same.
  int resizes = 0;
  int64_t steps = 0;
  std::optional<int64_t> images;  // Where somebody was sampled.
  std::optional<double> alone;    // What it takes by itself, where a profile tells.
};

struct CellInfo {
  int machine_cores = 0;
  std::string status;
  std::string reason;
  std::vector<std::string> marks;
  std::set<int64_t> services;  // Jobs.
  size_t submitted = 0;
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
    return {cpus->Count(),
            json.at("status").get<std::string>(),
            json.at("reason").get<std::string>(),
            json.at("marks").get<std::vector<std::string>>(),
            json.value("services", std::set<int64_t>{}),
            json.value("submitted", size_t{0})};
  } catch (const nlohmann::json::exception& error) {
    throw InputError({path.string(), 0, "", error.what(), "the cell.json that a run wrote"});
  }
}

constexpr size_t kMostReserved = 100'000'000;

// Sums over a cell's jobs, as they are read.
class JobSums {
 public:
  // jobs: about so many; a damaged file may say anything.
  explicit JobSums(size_t jobs) { turnarounds_.reserve(std::min(jobs, kMostReserved)); }

  void Add(const JobRow& job, bool serves) {
    first_ = jobs_ == 0 ? job.submitted : std::min(first_, job.submitted);
    last_ = jobs_ == 0 ? job.finished : std::max(last_, job.finished);
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
    const double turnaround = job.finished - job.submitted;
    waiting_ += job.waiting;
    longest_wait_ = std::max(longest_wait_, job.waiting);
    execution_ += job.execution;
    turnarounds_.push_back(turnaround);
    stretch_ += job.stretch;
    if (job.alone && *job.alone > 0) {
      slowdown_ += turnaround / *job.alone;
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
  // Of the finished jobs of one workload. x = steps / turnaround.
  struct Progress {
    double best = std::numeric_limits<double>::infinity();  // Execution time per step.
    double sum = 0;                                         // Of x ...
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
    progress.best = std::min(progress.best, job.execution / steps);
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
  std::vector<double> turnarounds_;  // Of the finished jobs.
  bool images_known_ = true;
  std::map<std::string, Progress, std::less<>> progress_;
};

template <typename Visit>
void VisitJobs(const std::filesystem::path& folder, Visit visit) {
  CsvReader reader(folder / "jobs.csv");
  const size_t id = reader.Column("job_id"), workload = reader.Column("workload"),
               submitted = reader.Column("submission_time"),
               finished = reader.Column("finish_time"), waiting = reader.Column("waiting_time"),
               execution = reader.Column("execution_time"), stretch = reader.Column("stretch"),
               state = reader.Column("state"), resizes = reader.Column("resizes"),
               steps = reader.Column("steps"), images = reader.Column("images"),
               started = reader.Column("starting_time"), alone = reader.Column("alone_s");
  const auto known = [&](size_t column) {
    return reader.Empty(column) ? std::nullopt : std::optional(reader.Number(column));
  };
  const auto number = [&](size_t column) { return known(column).value_or(0); };
  while (reader.Next()) {
    visit(JobRow{
        .id = reader.Integer(id),
        .workload = reader.Text(workload),
        .submitted = reader.Number(submitted),
        .started = known(started),
        .finished = reader.Number(finished),
        .waiting = number(waiting),
        .execution = number(execution),
        .stretch = number(stretch),
        .state = reader.Text(state),
        .resizes = static_cast<int>(reader.Integer(resizes)),
        .steps = reader.Integer(steps),
        .images = reader.Empty(images) ? std::nullopt : std::optional(reader.Integer(images)),
        .alone = known(alone)});
  }
}

// REQUIRES: the makespan is known.
void SummarizeSamples(const SampleSums& sums, int machine_cores, CellSummary* summary) {
  const Counters& counters = sums.counters;
  const double machine_seconds = machine_cores * summary->makespan_s;
  summary->core_utilization = machine_seconds > 0 ? sums.WorkSeconds() / machine_seconds : 0;
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

std::string SummaryRow(const CellSummary& s) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6f}", *value) : "";
  };
  return fmt::format(
      "{},{},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{},{},{},{},{:.6f},"
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{:.6f},{:.6f},{},{},{},{}\n",
      s.key.policy, ToString(s.key.elasticity), s.key.trial, s.makespan_s,
      s.throughput_jobs_per_hour, s.mean_wait_s, s.mean_execution_s, s.mean_turnaround_s,
      s.mean_stretch, optional(s.core_utilization), optional(s.oversubscription),
      optional(s.runqueue_wait_s_per_core_s), optional(s.images_per_s), s.jain_index, s.jobs,
      s.finished, s.failed, s.resizes, s.status, optional(s.worst_tenant_oversubscription),
      optional(s.involuntary_switches_per_core_s), optional(s.migrations_per_core_s),
      optional(s.throttled_s_per_core_s), optional(s.pressure_s_per_core_s), s.rejected,
      s.cancelled, s.Lost(), s.max_wait_s, s.p95_turnaround_s, optional(s.mean_slowdown),
      optional(s.tenant_oversubscription), CsvCell(fmt::format("{}", fmt::join(s.marks, "; "))),
      s.marks.empty() ? 0 : 1);
}

// Jobs that are less elastic than their cell, because their trace says so.
std::set<int64_t> LessElastic(const std::filesystem::path& cell, Elasticity elasticity) {
  CsvReader reader(cell / "jobs.csv");
  const size_t id = reader.Column("job_id"), type = reader.Column("class");
  std::set<int64_t> jobs;
  while (reader.Next()) {
    if (reader.Text(type) != ToString(elasticity)) jobs.insert(reader.Integer(id));
  }
  return jobs;
}

}  // namespace

CellSummary Summarize(const std::filesystem::path& run, const CellKey& key) {
  const std::filesystem::path folder = CellFolder(run, key);
  const CellInfo cell = ReadCell(folder);
  CellSummary summary;
  summary.key = key;
  summary.status = cell.status;
  summary.reason = cell.reason;
  summary.marks = cell.marks;
  const bool sampled = std::filesystem::exists(PlainOrCompressed(folder / "samples.csv"));
  JobSums jobs(cell.submitted);
  std::map<int64_t, JobSpan> spans;  // What samples need.
  VisitJobs(folder, [&](const JobRow& job) {
    jobs.Add(job, cell.services.contains(job.id));
    if (sampled) spans[job.id] = {job.started, job.finished};
  });
  jobs.Put(&summary);
  if (sampled) SummarizeSamples(SumSamples(folder, spans), cell.machine_cores, &summary);
  summary.services = SummarizeRequests(folder);
  return summary;
}

ThreadExcess FindThreadExcess(const std::filesystem::path& run, const CellKey& key) {
  const std::filesystem::path file = CellFolder(run, key) / "samples.csv";
  if (!std::filesystem::exists(PlainOrCompressed(file))) return {};
  const std::set<int64_t> others = LessElastic(CellFolder(run, key), key.elasticity);
  CsvReader reader(file);
  const size_t granted = reader.Column("granted"), runnable = reader.Column("runnable_threads"),
               settling = reader.Column("settling"), job = reader.Column("job_id");
  ThreadExcess result;
  while (reader.Next()) {
    if (reader.Integer(settling) != 0 || others.contains(reader.Integer(job))) continue;
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
      "throttled_s_per_core_s,pressure_s_per_core_s,rejected,cancelled,lost,max_wait_s,"
      "p95_turnaround_s,mean_slowdown,tenant_oversubscription,marks,marked\n";
  std::string services;
  for (const CellKey& key : WholeCells(run)) {
    const CellSummary summary = Summarize(run, key);
    text += SummaryRow(summary);
    for (const ServiceSummary& service : summary.services) {
      services += fmt::format("{},{},{},{}\n", key.policy, ToString(key.elasticity), key.trial,
                              ServiceRow(service));
    }
  }
  WriteFileWhole(run / "summary.csv", text);
  if (services.empty()) return;
  WriteFileWhole(run / "services.csv",
                 "policy,elasticity,trial," + ServiceColumns() + "\n" + services);
}

}  // namespace cosched
