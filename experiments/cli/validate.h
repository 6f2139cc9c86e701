#pragma once
// `cosched validate`: the same traces on hardware and simulated, and how far they agree. `cosched
// diff`: where two records of the same jobs part.

#include <CLI/App.hpp>

namespace cosched {

void AddValidateCommand(CLI::App& app, int* exit_code);
void AddDiffCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
