#pragma once
// Which runs a comparison is about, and which of them may be pooled: the manifest's facts that a
// comparison needs, typed. Used by the comparison's other files. Reads files only; not thread-safe
// beside somebody who writes the same run.

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/config/experiment_config.h"
#include "experiments/records/cell_records.h"

namespace cosched {

// Trials that were added until an interval was narrow enough (experiments/config/trials_until.h).
struct SequentialTrials {
  TrialsUntil until;
  int most = 0;
  bool stopped = false;  // Those below are known: the run is over.
  int trials = 0;
  std::optional<double> within = {};  // What the widest interval reached; nothing: it has no data.
  std::string widest = {};            // Whose that is: "max-prop/malleable / strict".
};

struct ComparedRun {
  std::filesystem::path path;
  bool has_manifest = false;  // A manifest that can be read; without it nothing below is known.
  std::string status;         // "running", "done" or "failed".
  bool simulated = false;
  std::string actuator;  // How tenants were moved; "" where they were simulated.
  std::string profile;   // What a simulated run rests on: a file's name.
  // "8 cores (16 threads, one a core)", "cores of 2 kinds: 0-7, slower 8-15".
  std::vector<std::string> unlike_cores;
  std::vector<std::string> policies;  // In the order of the experiment.
  std::string baseline;               // The policy to compare with that the experiment names; "".
  std::vector<CellKey> planned;       // Of sequential trials those that were needed.
  std::optional<SequentialTrials> sequential;
  std::vector<GateConfig> gates;
  std::vector<std::string> records;  // Files that every cell was to write, jobs.csv apart.
  std::vector<std::string> order;    // Cells by name, as they ran; empty: the manifest has none.
  std::vector<std::string> profile_doubts;
  std::vector<std::string> devices;      // "accelerator, modelled: <source>", of each.
  std::vector<std::string> mixed;        // What differed when the run was resumed with =anyway.
  std::vector<std::string> redone;       // Cells that ran again after the others.
  std::vector<std::string> redo_killed;  // Cells of which only some did.
  std::vector<size_t> traces;            // By trial - 1, a hash of all arrivals.
  // What runs must agree in to be one experiment: dotted key of the manifest -> value.
  std::map<std::string, std::string> identity;

  std::string Name() const { return path.filename().string(); }
  // 0 if it is not known.
  size_t TraceOf(int trial) const;
  // Several trials, all with the same arrivals.
  bool RepeatsOneTrace() const;
  // That an interval must have to count: more than 95 % where it was looked at several times.
  double LevelOfIntervals() const;
};

ComparedRun ReadComparedRun(const std::filesystem::path& run);

struct FoundRuns {
  std::vector<std::filesystem::path> runs;
  std::vector<std::string> notes;  // Which of several was taken.
};
// The runs that these paths mean: the run itself, or the newest of those right below that has a
// finished cell (runs' names begin with the time); an experiment's name stands for its folder below
// results/. Throws InputError if there is none.
FoundRuns FindRuns(const std::vector<std::filesystem::path>& paths);

// Why two runs are not one experiment: "trace.jobs: 40 in A, 20 in B". Empty if they are. The key
// is that of the manifest, without "experiment.".
std::vector<std::string> DifferencesOf(const ComparedRun& a, const ComparedRun& b);

// The first few, and how many more there are.
std::string DifferencesText(const std::vector<std::string>& differences);

// Trials that both runs have with the same arrivals, whatever their numbers.
int CommonTraces(const ComparedRun& a, const ComparedRun& b);

// Whether a cell's jobs.csv is the same in both, byte by byte. No two cells that ran are alike to
// the microsecond, but copies and repeated simulations are.
bool SameRecords(const ComparedRun& a, const CellKey& of_a, const ComparedRun& b,
                 const CellKey& of_b);
// The same of all cells: b says nothing that a does not.
bool IsCopy(const ComparedRun& a, const ComparedRun& b);

}  // namespace cosched
