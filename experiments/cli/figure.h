#pragma once
// Gets a figure's numbers by the command that [figure] of experiments/figures/<name>.toml names
// (experiments/config/figure_table.h). Used by `cosched reproduce`.

#include <filesystem>
#include <string>

#include "engine/base/topology.h"

namespace cosched {

struct FigureOptions {
  std::filesystem::path out;  // Results go to out/<figure>/<run>.
  bool quick = false;
  bool force = false;  // As ExecuteOptions::force.
};

struct FigureRun {
  std::filesystem::path run =
      {};                    // What its plot script reads; empty = nothing of it can run here …
  std::string why_not = {};  // … for this reason.
  bool interrupted = false;
  bool whole = true;  // False: parts of it failed, and said so.
};

// Progress goes to stderr. Throws InputError and OutputError.
FigureRun RunFigure(const std::string& name, const FigureOptions& options,
                    const Topology& topology);

// The file of a figure; empty if there is none.
std::filesystem::path FigureFile(const std::string& name);

}  // namespace cosched
