#pragma once
// Runs the trials of a sweep in rounds where `trials = "until METRIC ± P %"`: all cells up to a
// look (experiments/config/trials_until.h), then as many more as are needed until the next one.
// Every point of a sweep stops by itself. A resumed run takes the same looks at the same cells, so
// that it goes on as if it had not been interrupted. Used by Execute.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

#include "experiments/analysis/trials_look.h"
#include "experiments/config/sweep.h"
#include "experiments/harness/harness.h"

namespace cosched {

bool HasSequentialTrials(const Sweep& sweep);

struct StoppedTrials {
  size_t point = 0;  // Of the sweep.
  int trials = 0;    // That were needed; cells of later ones are not planned any more.
  TrialsLook look;   // The last one.
};

// Says on stderr what each look has found. run_cells: runs these cells of `planned` so far, earlier
// ones included. stopped: what became of the points with such trials, if nothing was interrupted.
HarnessResult RunInRounds(const Sweep& sweep, const std::filesystem::path& run,
                          const std::function<HarnessResult(const std::vector<SweepCell>& cells,
                                                            size_t planned)>& run_cells,
                          std::vector<StoppedTrials>* stopped);

// What the needed trials of a run that is over have reached, looked at once more.
std::vector<StoppedTrials> LookAgain(const Sweep& sweep, const std::filesystem::path& run);

// The sweep's cells but those that a run which is over turned out not to need.
std::vector<SweepCell> NeededCells(const Sweep& sweep, const std::filesystem::path& run);
// The sweep with these.
Sweep WithoutUnneeded(Sweep sweep, const std::filesystem::path& run);

}  // namespace cosched
