#include "experiments/analysis/comparison_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"

namespace cosched {
namespace {

// Values of the cells that have it.
template <typename Metric>
std::vector<double> ValuesWhereThere(const CellGroup& group, Metric metric) {
  std::vector<double> values;
  for (const ComparedCell* cell : group.Shown()) {
    if (cell->summary.*metric) values.push_back(static_cast<double>(*(cell->summary.*metric)));
  }
  return values;
}

constexpr size_t kNameWidth = 16;  // "static-partition".

void AddOnce(const std::string& policy, std::vector<std::string>* policies) {
  if (std::find(policies->begin(), policies->end(), policy) == policies->end()) {
    policies->push_back(policy);
  }
}

CellGroup& FindOrAdd(const CellKey& key, std::vector<CellGroup>* groups) {
  for (CellGroup& group : *groups) {
    if (group.policy == key.policy && group.elasticity == key.elasticity) return group;
  }
  return groups->emplace_back(CellGroup{key.policy, key.elasticity, {}, {}});
}

// Reads cells of several runs into groups.
class CellReader {
 public:
  CellReader(const std::vector<ComparedRun>& runs, bool exclude_marked)
      : exclude_marked_(exclude_marked) {
    cells_.runs = runs;
    for (size_t run = 0; run < runs.size(); ++run) ReadRun(static_cast<int>(run));
  }

  ComparedCells Take() {
    cells_.trials = static_cast<int>(cells_.traces.size());
    cells_.elasticities.assign(elasticities_.begin(), elasticities_.end());
    for (const ComparedRun& run : cells_.runs) {
      for (const std::string& policy : run.policies)
        if (policies_.contains(policy)) AddOnce(policy, &cells_.policies);
    }
    for (const std::string& policy : policies_) AddOnce(policy, &cells_.policies);
    return std::move(cells_);
  }

 private:
  void ReadRun(int index) {
    const ComparedRun& run = cells_.runs[index];
    if (run.simulated) cells_.profiles.insert(run.profile);
    for (const CellKey& key : WholeCells(run.path)) {
      const std::string name =
          cells_.runs.size() > 1 ? run.Name() + ":" + ToString(key) : ToString(key);
      const auto trial = TrialOf(index, key);
      if (!trial) {
        cells_.copies.push_back(name);
        continue;
      }
      try {
        Add({*trial, name, Summarize(run.path, key), FindThreadExcess(run.path, key)}, run);
      } catch (const InputError& error) {
        cells_.unreadable.push_back(fmt::format("{}: {}", name, error.what()));
      }
    }
  }

  // Trials of two runs with the same arrivals are one, unless the earlier run has this very cell:
  // then it is another measurement, or a copy (nullopt).
  std::optional<std::pair<int, int>> TrialOf(int index, const CellKey& key) {
    const ComparedRun& run = cells_.runs[index];
    const size_t trace = run.TraceOf(key.trial);
    std::pair<int, int> trial = {index, key.trial};
    if (trace == 0) return trial;
    for (int earlier = 0; earlier < index; ++earlier) {
      const ComparedRun& other = cells_.runs[earlier];
      const bool repeats = other.RepeatsOneTrace() || run.RepeatsOneTrace();
      for (size_t i = 0; i < other.traces.size(); ++i) {
        const CellKey same = {key.policy, key.elasticity, static_cast<int>(i) + 1};
        // Where one trace repeats, only trials of one number can be copies.
        if (other.traces[i] != trace || (repeats && same != key)) continue;
        if (SameRecords(other, same, run, key)) return std::nullopt;
        const std::pair<int, int> earlier_trial = {earlier, same.trial};
        if (!repeats && !std::filesystem::exists(CellFolder(other.path, same)) &&
            !Taken(key, earlier_trial)) {
          trial = earlier_trial;
        }
      }
    }
    return trial;
  }

  // Whether a run between has this cell of that trial.
  bool Taken(const CellKey& key, const std::pair<int, int>& trial) const {
    return std::any_of(cells_.groups.begin(), cells_.groups.end(), [&](const CellGroup& group) {
      return group.policy == key.policy && group.elasticity == key.elasticity &&
             std::any_of(group.cells.begin(), group.cells.end(),
                         [&trial](const ComparedCell& cell) { return cell.trial == trial; });
    });
  }

  void Add(ComparedCell cell, const ComparedRun& run) {
    if (exclude_marked_ && !cell.summary.marks.empty()) {
      cells_.excluded.push_back(cell.name);
      return;
    }
    const CellKey& key = cell.summary.key;
    policies_.insert(key.policy);
    elasticities_.insert(key.elasticity);
    cells_.traces[cell.trial] = run.TraceOf(key.trial);
    ++cells_.cells;
    cells_.simulated += run.simulated ? 1 : 0;
    CellGroup& group = FindOrAdd(key, &cells_.groups);
    auto& place = cell.summary.status == "done" ? group.cells : group.failed;
    place.push_back(std::move(cell));
  }

  const bool exclude_marked_;
  ComparedCells cells_;
  std::set<std::string> policies_;
  std::set<Elasticity> elasticities_;
};

}  // namespace

int CellGroup::LostJobs() const {
  int lost = 0;
  for (const ComparedCell& cell : cells) lost += cell.summary.Lost();
  return lost;
}

int CellGroup::LossyCells() const {
  return static_cast<int>(std::count_if(cells.begin(), cells.end(), [](const ComparedCell& cell) {
    return cell.summary.Lost() > 0;
  }));
}

std::vector<const ComparedCell*> CellGroup::Shown() const {
  const bool none_whole = LossyCells() == static_cast<int>(cells.size());
  std::vector<const ComparedCell*> shown;
  for (const ComparedCell& cell : cells)
    if (none_whole || cell.summary.Lost() == 0) shown.push_back(&cell);
  return shown;
}

std::vector<double> CellGroup::Values(double CellSummary::*metric) const {
  std::vector<double> values;
  for (const ComparedCell* cell : Shown()) {
    const bool none_finished = cell->summary.jobs > 0 && cell->summary.Lost() == cell->summary.jobs;
    if (!none_finished) values.push_back(cell->summary.*metric);
  }
  return values;
}

std::vector<double> CellGroup::Values(std::optional<double> CellSummary::*metric) const {
  return ValuesWhereThere(*this, metric);
}

std::vector<double> CellGroup::Values(std::optional<int64_t> CellSummary::*metric) const {
  return ValuesWhereThere(*this, metric);
}

std::map<std::pair<int, int>, double> CellGroup::ByTrial(double CellSummary::*metric) const {
  std::map<std::pair<int, int>, double> values;
  for (const ComparedCell& cell : cells)
    if (cell.summary.Lost() == 0) values[cell.trial] = cell.summary.*metric;
  return values;
}

bool ComparedCells::RepeatsOneTrace() const {
  if (traces.size() < 2 || traces.begin()->second == 0) return false;
  return std::all_of(traces.begin(), traces.end(),
                     [this](const auto& trial) { return trial.second == traces.begin()->second; });
}

size_t ComparedCells::NameWidth() const {
  size_t width = kNameWidth;
  for (const std::string& policy : policies) width = std::max(width, policy.size());
  return width;
}

const CellGroup* ComparedCells::Find(const std::string& policy, Elasticity elasticity) const {
  for (const CellGroup& group : groups) {
    if (group.policy == policy && group.elasticity == elasticity) return &group;
  }
  return nullptr;
}

std::map<std::string, std::vector<std::string>> CellsByMark(const CellGroup& group) {
  std::map<std::string, std::vector<std::string>> marked;
  for (const ComparedCell& cell : group.cells)
    for (const std::string& mark : cell.summary.marks) marked[mark].push_back(cell.name);
  return marked;
}

std::vector<std::string> CellNames(const CellGroup& group, const std::vector<std::string>& cells) {
  if (cells.size() <= 1 || cells.size() != group.cells.size()) return cells;
  return {
      fmt::format("{}/{} (all {} trials)", group.policy, ToString(group.elasticity), cells.size())};
}

ComparedCells ReadCells(const std::vector<ComparedRun>& runs, bool exclude_marked) {
  return CellReader(runs, exclude_marked).Take();
}

}  // namespace cosched
