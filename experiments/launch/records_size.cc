#include "experiments/launch/records_size.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

// Size of a row, in bytes, without its lists of cores.
constexpr double kJobRow = 150, kGrantRow = 40, kSampleRow = 85, kStepRow = 40, kRequestRow = 90;
constexpr double kDecisionRow = 45, kSlice = 150, kCounter = 90, kTimelineDecision = 150;
constexpr double kCoreText = 3;  // Bytes of a list of cores, for each of them.
// How many times smaller compressed files are: 2.5 to 5.2 by what they hold, and 24.
constexpr double kRowsPacked = 4, kTimelinePacked = 20;

// Work of one job that is alone: its cell shares cores and waits, but does the same work.
struct CellWork {
  double jobs = 0, steps = 0, seconds = 0, cores = 0, requests = 0;
};

CellWork WorkOf(const SweepPoint& point, size_t trial) {
  CellWork work;
  const JobTrace& trace = point.plan.traces[trial];
  work.jobs = static_cast<double>(trace.size());
  if (point.config.HasServices())
    work.requests = static_cast<double>(RequestsOf(point.plan, trial));
  CellJobs jobs(point.config, Elasticity::kMalleable, static_cast<int>(trial) + 1);
  for (size_t i = 0; i < trace.size(); ++i) {
    const Job job = jobs.JobOf(trace[i], static_cast<int64_t>(i));
    const double speed = job.speed ? job.speed->At(job.request.preferred) : 0;
    work.steps += static_cast<double>(job.steps);
    work.cores += job.request.preferred;
    if (speed > 0) work.seconds += static_cast<double>(job.steps) / speed;
  }
  return work;
}

// Files of one cell.
RecordsSize OfCell(const CellWork& work, const ExperimentConfig& config) {
  const RecordsConfig& wanted = config.records;
  const double list = kCoreText * work.cores;  // Bytes of all jobs' cores once.
  const double samples = work.seconds / ToSeconds(config.sample_period);
  const double mean_cores = work.jobs > 0 ? work.cores / work.jobs : 0;
  const double decisions = 2 * work.jobs;  // A job comes and goes.
  RecordsSize size;
  const auto add = [&](bool on, const char* key, double bytes, double packed = kRowsPacked) {
    if (on) size[key] = wanted.gzip ? bytes / packed : bytes;
  };
  add(true, "jobs", work.jobs * kJobRow + list);
  // Submitted, granted, settled, released.
  add(wanted.grants, "grants", 4 * work.jobs * kGrantRow + 4 * list);
  add(wanted.decisions, "decisions", decisions * kDecisionRow);
  add(wanted.samples, "samples", samples * (kSampleRow + kCoreText * mean_cores));
  add(wanted.steps, "steps", work.steps * kStepRow);
  add(wanted.requests && work.requests > 0, "requests", work.requests * kRequestRow);
  const double counted = wanted.samples ? samples : 0;
  add(wanted.timeline, "timeline",
      2 * work.jobs * kSlice + (4 * work.jobs + counted) * kCounter + decisions * kTimelineDecision,
      kTimelinePacked);
  return size;
}

}  // namespace

RecordsSize EstimateRecords(const Sweep& sweep) {
  RecordsSize total;
  for (const SweepPoint& point : sweep.points) {
    const auto& config = point.config;
    const auto cells = static_cast<double>(config.policies.size() * config.elasticities.size());
    for (size_t trial = 0; trial < point.plan.traces.size(); ++trial) {
      for (const auto& [key, bytes] : OfCell(WorkOf(point, trial), config))
        total[key] += cells * bytes;
    }
  }
  return total;
}

double TotalSize(const RecordsSize& size) {
  return std::accumulate(size.begin(), size.end(), 0.0,
                         [](double sum, const auto& file) { return sum + file.second; });
}

std::string RecordsSizeText(const RecordsSize& size) {
  return "about " + BytesText(TotalSize(size));
}

uintmax_t FreeSpace(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  return error ? std::numeric_limits<uintmax_t>::max() : space.available;
}

std::string LargeRecordsText(const RecordsSize& size, uintmax_t free) {
  const double total = TotalSize(size);
  const auto available = static_cast<double>(free);
  if (total < kLargeRecords && total < available) return "";
  std::vector<std::pair<std::string, double>> files(size.begin(), size.end());
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts, keys;
  for (const auto& [key, bytes] : files) {
    if (bytes < total / 20) continue;
    parts.push_back(fmt::format("{} {}", key, BytesText(bytes)));
    if (key != "jobs") keys.push_back(key + " = false");
  }
  std::string text = fmt::format("the records of this run will take about {}: {}\n",
                                 BytesText(total), fmt::join(parts, ", "));
  if (!keys.empty())
    text += fmt::format("  [records] {} leaves out what is not needed\n", fmt::join(keys, ", "));
  if (total > available)
    text += fmt::format("  WARNING: only {} are free where they go\n", BytesText(available));
  return text;
}

}  // namespace cosched
