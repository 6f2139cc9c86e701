#pragma once
// Gets a figure's numbers by the command that [figure] of experiments/figures/<name>.toml names
// (experiments/config/figure_table.h). Used by `cosched reproduce`, once it has planned the figure
// (experiments/cli/figure_plan.h).

#include <filesystem>
#include <string>

#include "engine/base/topology.h"
#include "experiments/config/figure_table.h"

namespace cosched {

struct FigureOptions {
  std::filesystem::path out;  // Results go to out/<figure>/<run>.
  bool quick = false;
  bool force = false;  // As ExecuteOptions::force.
  // What an earlier call of this left below `out` when it was interrupted is gone on with: whole
  // cells of a run, the profile that a validation had calibrated. A benchmark begins anew.
  bool resume = false;
};

struct FigureRun {
  std::filesystem::path run = {};  // What its plot script reads; empty = there is nothing.
  bool interrupted = false;
  std::string failure = {};  // What of it failed; "" = nothing.
};

// REQUIRES: its plan has no why_not. Progress goes to stderr. Throws InputError and OutputError.
FigureRun RunFigure(const std::string& name, const FigureOptions& options,
                    const Topology& topology);

// Why a benchmark can't run; "" = it can.
std::string WhyNoBenchmark(const FigureSettings& figure);

}  // namespace cosched
