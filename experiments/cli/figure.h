#pragma once
// How a figure gets its numbers: the [figure] table of experiments/figures/<name>.toml says which
// of cosched's commands runs it. Used by `cosched reproduce`.
//
//   (no [figure])        the experiment or sweep of the file, as `cosched run`
//   with = "validate"    its workloads calibrated for calibrate_minutes, then `cosched validate`
//   with = "benchmark"   `program` beside this binary, with its `filter` and `repetitions`; the file
//                        is no experiment then

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
