#include "experiments/analysis/decision_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "experiments/records/rows.h"
#include "experiments/records/table.h"
#include "policies/event_text.h"

namespace cosched {
namespace {

constexpr size_t kColumn = 46;  // Width of the left side.

// In order of time; with those that changed nothing, whose events matter for the view.
std::vector<Decision> ReadDecisionRows(const std::filesystem::path& cell) {
  RowReader<DecisionRow> reader(cell, &DecisionRow::decision, &DecisionRow::time,
                                &DecisionRow::event, &DecisionRow::allocation);
  std::vector<Decision> decisions;
  while (const DecisionRow* row = reader.Next()) {
    decisions.push_back(
        {row->decision, row->time, std::string(row->event), std::string(row->allocation)});
  }
  std::sort(decisions.begin(), decisions.end(),
            [](const Decision& a, const Decision& b) { return a.number < b.number; });
  return decisions;
}

// Arrivals come into the view with their event, ends leave it with theirs.
void ApplyEvent(const std::string& text, std::map<int64_t, SeenJob>* jobs) {
  const std::optional<Event> event = ParseEvent(text);
  if (!event) return;
  if (const auto* arrived = std::get_if<JobArrived>(&*event)) (*jobs)[arrived->job.value];
  if (const auto* finished = std::get_if<JobFinished>(&*event)) jobs->erase(finished->job.value);
  if (const auto* failed = std::get_if<JobFailed>(&*event)) jobs->erase(failed->job.value);
}

void ApplyAllocation(const std::string& allocation, std::map<int64_t, SeenJob>* jobs) {
  for (const auto& [job, what] : ParseAllocation(allocation)) {
    const auto seen = jobs->find(job.value);
    if (seen == jobs->end()) continue;
    if (what == kRejectText) {
      jobs->erase(seen);
    } else {
      seen->second.cores = what;
    }
  }
}

void AddWorkloads(const std::filesystem::path& cell, std::map<int64_t, SeenJob>* jobs) {
  RowReader<JobRow> reader(cell, &JobRow::job_id, &JobRow::workload);
  while (const JobRow* row = reader.Next()) {
    const auto job = jobs->find(row->job_id);
    if (job != jobs->end()) job->second.workload = row->workload;
  }
}

void AddSeenSteps(const std::filesystem::path& cell, double until_s,
                  std::map<int64_t, SeenJob>* jobs) {
  RowReader<StepRow> reader(cell, &StepRow::job_id, &StepRow::time);
  while (const StepRow* step = reader.Next()) {
    const auto job = jobs->find(step->job_id);
    if (job != jobs->end() && step->time <= until_s) ++job->second.steps;
  }
}

// Walks one cell's decisions, from one that changed something to the next.
class Walk {
 public:
  explicit Walk(const std::filesystem::path& cell)
      : cell_(cell), decisions_(ReadDecisionRows(cell)) {}

  // The next decision that changed something; the view is then what it was told. Null at the end.
  const Decision* Next() {
    if (current_ != nullptr) ApplyAllocation(current_->allocation, &jobs_);
    for (current_ = nullptr; next_ < decisions_.size() && current_ == nullptr; ++next_) {
      ApplyEvent(decisions_[next_].event, &jobs_);
      if (!decisions_[next_].allocation.empty()) current_ = &decisions_[next_];
    }
    return current_;
  }

  DiffSide Here() const {
    DiffSide side;
    side.jobs = jobs_;
    AddWorkloads(cell_, &side.jobs);
    if (current_ == nullptr) return side;
    side.decision = *current_;
    AddSeenSteps(cell_, current_->time_s, &side.jobs);
    return side;
  }

 private:
  const std::filesystem::path cell_;
  const std::vector<Decision> decisions_;
  size_t next_ = 0;
  const Decision* current_ = nullptr;
  std::map<int64_t, SeenJob> jobs_;
};

std::string JobText(const DiffSide& side, int64_t id) {
  const auto found = side.jobs.find(id);
  if (found == side.jobs.end()) return "-";
  const SeenJob& job = found->second;
  const std::string where = job.cores.empty()         ? "waits"
                            : job.cores == kPauseText ? "paused"
                                                      : "cores " + job.cores;
  return fmt::format("{}, {}, {} steps done", job.workload, where, job.steps);
}

std::string DiffRow(const std::string& title, const std::string& a, const std::string& b) {
  return fmt::format("  {:<10} {:<{}}  {}\n", title, a, kColumn, b);
}

}  // namespace

std::optional<DecisionDiff> FindFirstDifference(const std::filesystem::path& cell_a,
                                                const std::filesystem::path& cell_b) {
  Walk a(cell_a), b(cell_b);
  for (int same = 0;; ++same) {
    const Decision* const in_a = a.Next();
    const Decision* const in_b = b.Next();
    if (in_a == nullptr && in_b == nullptr) return std::nullopt;
    if (in_a != nullptr && in_b != nullptr && in_a->allocation == in_b->allocation) continue;
    return DecisionDiff{same, a.Here(), b.Here()};
  }
}

DiffSide ViewAt(const std::filesystem::path& cell, double time_s) {
  Walk walk(cell);
  while (const Decision* decision = walk.Next()) {
    if (decision->time_s >= time_s) break;
  }
  return walk.Here();
}

std::string SidesText(const DiffSide& a, const DiffSide& b, const std::string& name_a,
                      const std::string& name_b) {
  const auto field = [](const DiffSide& side, auto text) {
    return side.decision ? text(*side.decision) : std::string("-");
  };
  std::string text = DiffRow("", name_a, name_b);
  const auto row = [&](const char* title, auto of) {
    text += DiffRow(title, field(a, of), field(b, of));
  };
  row("at", [](const Decision& d) { return fmt::format("{:.3f} s", d.time_s); });
  row("event", [](const Decision& d) { return d.event; });
  row("decided", [](const Decision& d) { return d.allocation; });
  std::set<int64_t> ids;
  for (const DiffSide* side : {&a, &b}) {
    for (const auto& [id, job] : side->jobs) ids.insert(id);
  }
  for (const int64_t id : ids)
    text += DiffRow(fmt::format("job {}", id), JobText(a, id), JobText(b, id));
  return text;
}

std::string DiffText(const DecisionDiff& diff, const std::string& name_a,
                     const std::string& name_b) {
  return fmt::format("the first {} decisions are alike; then\n", diff.same) +
         SidesText(diff.a, diff.b, name_a, name_b);
}

}  // namespace cosched
