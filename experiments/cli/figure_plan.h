#pragma once
// What getting a figure's numbers takes, and what of it this machine can't do, before anything runs.
// Used by `cosched reproduce`.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/config/figure_table.h"
#include "experiments/config/toml_table.h"

namespace cosched {

struct FigurePlan {
  std::string name;
  std::string title;
  std::string source;                  // The publication.
  nlohmann::ordered_json claims = {};  // As plots/expected has them.
  std::string wrong = {};  // What is wrong with its file; then nothing else is known. "": nothing.
  std::string why_not = {};             // Why nothing of it can run here; "": it can.
  std::vector<std::string> lacks = {};  // What of it can't, or could not be made, with the reasons.
  std::string hash = {};  // Of what runs: the same experiment has the same, comments apart.
  std::optional<int64_t> cells = {};   // A benchmark has none.
  int cores = 1;                       // That it measures on; a simulation needs one.
  std::optional<double> least_s = {};  // That it takes at least, where arrivals or a profile tell.
  std::optional<double> bytes = {};    // Of records.
};

// The files of figures; none if the source tree is not there.
std::vector<std::string> FigureNames();

// The file of a figure, in a folder that can be written to: the tree's, or a copy of that in the user's
// cache. Empty if there is none.
std::filesystem::path FigureFile(const std::string& name);

// [figure] of a file's ChosenTable().
FigureSettings SettingsOf(const TomlTable& chosen);

// Makes what the figure's workloads read ([figure] prepare), which tells whether it can be made.
// Throws InputError.
FigurePlan PlanFigure(const std::string& name, bool quick, const Topology& topology);

}  // namespace cosched
