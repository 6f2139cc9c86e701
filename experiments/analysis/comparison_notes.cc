#include "experiments/analysis/comparison_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/analysis/estimate.h"
#include "experiments/analysis/paired_effects.h"
#include "experiments/analysis/statistics.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

constexpr const char* kOversubscriber = "no-control";
// Without blocks: of all places, that two treatments' means may lie apart.
constexpr double kFarApart = 0.25;
// With blocks: the share of randomised orders that are told though nothing is wrong with them.
constexpr double kOrderAlpha = 0.05;
// At which a difference is told.
constexpr double kTellAlpha = 0.05;

class NoteWriter {
 public:
  // Once, though several runs say so.
  void Add(const std::string& note) {
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
  }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> notes_;
};

// Did the threads of malleable tenants stay within their cores?
void AddMalleableNote(const ComparedCells& cells, NoteWriter* notes) {
  int64_t samples = 0, exceeding = 0;
  int worst = 0;
  std::string where;
  for (const CellGroup& group : cells.groups) {
    if (group.elasticity != Elasticity::kMalleable) continue;
    for (const ComparedCell& cell : group.cells) {
      samples += cell.excess.samples;
      exceeding += cell.excess.exceeding;
      if (cell.excess.worst > worst) where = cell.name;
      worst = std::max(worst, cell.excess.worst);
    }
  }
  if (samples == 0) return;
  if (exceeding == 0) {
    notes->Add(
        fmt::format("malleable tenants never had more runnable compute threads than cores granted "
                    "({} samples between resizes)",
                    samples));
  } else {
    notes->Add(fmt::format(
        "WARNING: malleable tenants had more runnable compute threads than cores granted in {} of "
        "{} samples, at worst {} more ({})",
        exceeding, samples, worst, where));
  }
}

void AddOversubscriberNote(const ComparedCells& cells, NoteWriter* notes) {
  const CellGroup* group = cells.Find(kOversubscriber, Elasticity::kRigid);
  if (group == nullptr || group->cells.empty()) return;
  const std::vector<double> values = group->Values(&CellSummary::oversubscription);
  if (values.empty()) return;
  const auto positive = std::count_if(values.begin(), values.end(), [](double v) { return v > 0; });
  const bool all = positive == static_cast<std::ptrdiff_t>(values.size());
  notes->Add(fmt::format(
      "{}{} with rigid tenants oversubscribes the cores (> 0) in {} of {}: median {} %",
      all ? "" : "WARNING: ", kOversubscriber, positive,
      Counted(static_cast<int64_t>(values.size()), "trial"), ShareText(Median(values))));
}

// Rows with fewer trials than others, whose intervals say less than the title.
void AddTrialNotes(const ComparedCells& cells, NoteWriter* notes) {
  size_t most = 0, fewest = SIZE_MAX;
  for (const CellGroup& group : cells.groups) {
    most = std::max(most, group.Shown().size());
    if (!group.cells.empty()) fewest = std::min(fewest, group.Shown().size());
  }
  if (fewest < kTrialsThatDecide) {
    notes->Add(fmt::format("FEW TRIALS: only {}{}; below {} nothing is decided", fewest,
                           fewest < most ? " for some rows" : "", kTrialsThatDecide));
  }
  for (const CellGroup& group : cells.groups) {
    if (group.cells.empty() || group.Shown().size() == most) continue;
    notes->Add(fmt::format("{}/{} has {} only, others have {}", group.policy,
                           ToString(group.elasticity),
                           Counted(static_cast<int64_t>(group.Shown().size()), "trial"), most));
  }
}

void AddFailureNotes(const ComparedCells& cells, NoteWriter* notes) {
  std::map<std::string, std::vector<std::string>> marks;
  std::map<std::string, size_t> counts;  // How many cells have a mark.
  size_t done = 0;
  for (const CellGroup& group : cells.groups) {
    for (const ComparedCell& cell : group.failed) {
      notes->Add(fmt::format("FAILED CELL, left out of every figure: {}: {}", cell.name,
                             cell.summary.reason));
    }
    std::vector<std::string> lossy;
    for (const ComparedCell& cell : group.cells) {
      if (cell.summary.Lost() > 0) {
        lossy.push_back(
            fmt::format("{} ({} of {})", cell.name, cell.summary.Lost(), cell.summary.jobs));
      }
    }
    for (const auto& [mark, where] : CellsByMark(group)) {
      const std::vector<std::string> names = CellNames(group, where);
      marks[mark].insert(marks[mark].end(), names.begin(), names.end());
      counts[mark] += where.size();
    }
    done += group.cells.size();
    // Where every trial did, the table says so.
    if (!lossy.empty() && lossy.size() < group.cells.size())
      notes->Add(fmt::format("LOST JOBS: {}", fmt::join(lossy, ", ")));
  }
  for (const auto& [mark, where] : marks) {
    notes->Add(fmt::format("MARKED: {}: {}", mark,
                           counts[mark] == done && done > 1
                               ? fmt::format("all {} cells", done)
                               : fmt::format("{}", fmt::join(where, ", "))));
  }
  if (!marks.empty()) notes->Add("--exclude-marked leaves the marked cells out");
}

void AddLeftOutNotes(const ComparedCells& cells, NoteWriter* notes) {
  if (!cells.excluded.empty()) {
    notes->Add(fmt::format("{} left out (--exclude-marked): {}",
                           Counted(static_cast<int64_t>(cells.excluded.size()), "marked cell"),
                           fmt::join(cells.excluded, ", ")));
  }
  if (!cells.copies.empty()) {
    notes->Add(
        fmt::format("copies of other cells here, counted once: {}", fmt::join(cells.copies, ", ")));
  }
}

// Its default is another one for root and for others, and so is what it takes to move a tenant.
void AddActuatorNote(const std::vector<ComparedRun>& runs, NoteWriter* notes) {
  for (const ComparedRun& run : runs) {
    if (!run.actuator.empty())
      notes->Add(fmt::format("tenants were moved by the actuator {}", run.actuator));
  }
}

// What is to be said of several runs is said once, with their names where it is not of all.
void AddRunNotes(const std::vector<ComparedRun>& runs, NoteWriter* notes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> doubts;
  for (const ComparedRun& run : runs) {
    for (const std::string& doubt : RunDoubts(run)) {
      const auto same = std::find_if(doubts.begin(), doubts.end(),
                                     [&doubt](const auto& other) { return other.first == doubt; });
      if (same == doubts.end()) {
        doubts.push_back({doubt, {run.Name()}});
      } else {
        same->second.push_back(run.Name());
      }
    }
  }
  for (const auto& [doubt, names] : doubts) {
    notes->Add(names.size() == runs.size() ? doubt
                                           : fmt::format("{} ({})", doubt, fmt::join(names, ", ")));
  }
}

// "strict/rigid/2" is treatment "strict/rigid", trial "2".
std::pair<std::string, std::string> TreatmentAndTrial(const std::string& cell) {
  const size_t slash = cell.rfind('/');
  return {cell.substr(0, slash), slash == std::string::npos ? "" : cell.substr(slash + 1)};
}

// A block: as many cells as there are treatments, of one trial.
bool InBlocks(const std::vector<std::string>& order, size_t treatments) {
  if (order.size() % treatments != 0) return false;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string& first = order[i / treatments * treatments];
    if (TreatmentAndTrial(order[i]).second != TreatmentAndTrial(first).second) return false;
  }
  return true;
}

// Where nothing is compared, no table says what so many trials can show.
void AddPowerNote(const ComparedCells& cells, NoteWriter* notes) {
  if (cells.groups.size() != 1 || cells.RepeatsOneTrace()) return;
  const CellGroup& group = cells.groups.front();
  const TrialValues makespans = group.ByTrial(&CellSummary::makespan_s);
  const std::optional<TreatmentEffect> alike = IndependentTrials(makespans, makespans);
  if (!alike || !alike->tested) return;
  const std::optional<double> difference =
      DetectableDifference(alike->spread, alike->pairs, kTellAlpha);
  if (!difference) return;  // So few trials are told of.
  notes->Add(
      fmt::format("there is nothing to compare {}/{} with; beside another run of {}, of arrivals "
                  "of its own, {} "
                  "can show a difference of {} % in makespan",
                  group.policy, ToString(group.elasticity), Counted(alike->pairs, "trial"),
                  alike->pairs, ShareText(*difference)));
}

// How many trials were needed, and what that makes of the tables.
std::string StoppedText(const SequentialTrials& trials) {
  const std::vector<int> looks = TrialLooks(trials.most);
  const std::string widest =
      trials.within ? fmt::format("± {:.2g} % ({})", *trials.within * 100, trials.widest)
                    : fmt::format("without an interval ({})", trials.widest);
  const bool reached = trials.within && *trials.within <= trials.until.within;
  return fmt::format(
      "TRIALS {}: {} after {} of at most {}, the widest is {}. Its intervals have {} at each of "
      "{}, so that all of them hold with 95 %; those of the tables, and p, take the number of "
      "trials for chosen beforehand",
      ToString(trials.until), reached ? "stopped" : "NOT REACHED", trials.trials, trials.most,
      widest, fmt::format("{:.3g} %", LevelOfLook(looks.size()) * 100),
      Counted(static_cast<int64_t>(looks.size()), "look"));
}

}  // namespace

std::vector<std::string> OrderDoubts(const std::vector<std::string>& order) {
  std::set<std::string> names;
  for (const std::string& cell : order) names.insert(TreatmentAndTrial(cell).first);
  const size_t treatments = names.size();
  if (treatments < 2) return {};
  const bool blocks = InBlocks(order, treatments);
  std::map<std::string, std::vector<double>> places;
  for (size_t i = 0; i < order.size(); ++i) {
    places[TreatmentAndTrial(order[i]).first].push_back(
        static_cast<double>((blocks ? i % treatments : i) + 1));
  }
  const double all = static_cast<double>(blocks ? treatments : order.size());
  const double middle = (all + 1) / 2;
  std::map<double, std::string> means;
  for (const auto& [name, of_name] : places) means[Mean(of_name)] = name;
  const auto text = [all, blocks](const auto& early, const auto& late) {
    return fmt::format(
        "{} ran early (mean place {:.1f} of {:.0f}{}), {} late ({:.1f}): a machine that changed on "
        "the way looks like an effect",
        early.second, early.first, all, blocks ? " in each trial" : "", late.second, late.first);
  };
  const auto& first = *means.begin();
  const auto& last = *means.rbegin();
  if (!blocks) {
    if (last.first - first.first <= kFarApart * all) return {};
    return {text(first, last)};
  }
  const double trials = static_cast<double>(places.begin()->second.size());
  const double limit = NormalQuantile(1 - kOrderAlpha / 2 / static_cast<double>(treatments)) *
                       std::sqrt((all * all - 1) / 12 / trials);
  if (std::max(middle - first.first, last.first - middle) <= limit) return {};
  return {text(first, last)};
}

std::vector<std::string> RunDoubts(const ComparedRun& run) {
  std::vector<std::string> doubts;
  if (run.sequential && run.sequential->stopped) doubts.push_back(StoppedText(*run.sequential));
  for (const std::string& device : run.devices) doubts.push_back("DEVICE " + device);
  for (const std::string& difference : run.mixed)
    doubts.push_back("MIXED: resumed with something else: " + difference);
  for (const std::string& doubt : run.profile_doubts) {
    doubts.push_back(
        fmt::format("PROFILE{}{}: {}", run.profile.empty() ? "" : " ", run.profile, doubt));
  }
  if (!run.redone.empty())
    doubts.push_back(fmt::format("REDONE after the others: {}", fmt::join(run.redone, ", ")));
  if (!run.redo_killed.empty()) {
    doubts.push_back(
        fmt::format("a redo was killed or is still going; some of these ran after the others: {}",
                    fmt::join(run.redo_killed, ", ")));
  }
  if (run.simulated) return doubts;  // A simulated machine does not drift.
  for (const std::string& doubt : OrderDoubts(run.order)) doubts.push_back("ORDER: " + doubt);
  return doubts;
}

std::vector<std::string> ComparisonNotes(const ComparedCells& cells,
                                         const std::vector<std::string>& first) {
  NoteWriter notes;
  for (const std::string& note : first) notes.Add(note);
  AddMalleableNote(cells, &notes);
  AddOversubscriberNote(cells, &notes);
  AddTrialNotes(cells, &notes);
  AddPowerNote(cells, &notes);
  AddFailureNotes(cells, &notes);
  AddLeftOutNotes(cells, &notes);
  AddActuatorNote(cells.runs, &notes);
  AddRunNotes(cells.runs, &notes);
  return notes.notes();
}

std::string ComparisonNotesText(const ComparedCells& cells, const std::vector<std::string>& first) {
  std::string text;
  for (const std::string& note : ComparisonNotes(cells, first)) text += Wrapped("  *", note);
  return text.empty() ? "" : "\n" + text;
}

}  // namespace cosched
