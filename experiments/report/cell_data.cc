#include "experiments/report/cell_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// Milliseconds are enough for what a page can show, and make it smaller.
double Rounded(double seconds) { return std::round(seconds * 1e3) / 1e3; }

struct ShownJob {
  int64_t id;
  double came;
  Json row;
};

std::vector<ShownJob> ReadJobs(const std::filesystem::path& cell) {
  RowReader<JobRow> reader(cell, &JobRow::job_id, &JobRow::workload, &JobRow::submission_time,
                           &JobRow::starting_time, &JobRow::finish_time, &JobRow::state,
                           &JobRow::reason);
  std::vector<ShownJob> jobs;
  while (const JobRow* job = reader.Next()) {
    Json row =
        Json::array({job->job_id, std::string(job->workload), Rounded(job->submission_time)});
    row.push_back(job->starting_time ? Json(Rounded(*job->starting_time)) : Json());
    row.push_back(Rounded(job->finish_time));
    row.push_back(std::string(job->state));
    row.push_back(std::string(job->reason));
    jobs.push_back({job->job_id, job->submission_time, std::move(row)});
  }
  std::ranges::sort(jobs, {}, [](const ShownJob& job) { return std::pair(job.came, job.id); });
  return jobs;
}

struct Held {
  double since;
  double cores;
  int threads;
};

// Of these jobs, up to that time.
Json ReadSpans(const std::filesystem::path& cell, const std::set<int64_t>& jobs, double until) {
  RowReader<GrantRow> reader(cell, &GrantRow::time, &GrantRow::job_id, &GrantRow::kind,
                             &GrantRow::threads, &GrantRow::amount);
  Json spans = Json::array();
  std::map<int64_t, Held> now;
  double last = 0;
  const auto add = [&spans](int64_t job, const Held& held, double end) {
    if (end > held.since)
      spans.push_back({job, Rounded(held.since), Rounded(end), held.cores, held.threads});
  };
  while (const GrantRow* grant = reader.Next()) {
    if (grant->time > until) break;
    last = grant->time;
    if (grant->kind == "settled" || !jobs.contains(grant->job_id)) continue;
    const auto before = now.find(grant->job_id);
    if (before != now.end()) add(grant->job_id, before->second, grant->time);
    if (grant->kind == "released") {
      now.erase(grant->job_id);
    } else {
      now[grant->job_id] = {grant->time, grant->amount, grant->threads};
    }
  }
  // What they hold at the end of the view, or of the records of a cell that failed.
  for (const auto& [job, held] : now) add(job, held, std::isinf(until) ? last : until);
  return spans;
}

}  // namespace

Json CellData(const std::filesystem::path& cell) {
  std::vector<ShownJob> jobs = ReadJobs(cell);
  Json json = {{"all_jobs", jobs.size()}};
  double until = std::numeric_limits<double>::infinity();
  if (jobs.size() > kMostShownJobs) {
    until = jobs[kMostShownJobs].came;
    jobs.resize(kMostShownJobs);
  }
  std::set<int64_t> shown;
  json["jobs"] = Json::array();
  for (ShownJob& job : jobs) {
    shown.insert(job.id);
    json["jobs"].push_back(std::move(job.row));
  }
  if (HasTable<GrantRow>(cell)) json["spans"] = ReadSpans(cell, shown, until);
  return json;
}

}  // namespace cosched
