#pragma once
// `cosched reproduce [FIGURE…]`: runs, draws and checks the claims of the published figures.

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace cosched {

struct FigureInfo {
  std::string name;   // The stem of its .toml, its script and its expected values.
  std::string title;  // The title in its expected values.
};
std::vector<FigureInfo> Figures();  // By name; none if the source tree is not there.

void AddReproduceCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
