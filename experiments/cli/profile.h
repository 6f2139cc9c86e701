#pragma once
// `cosched profile compare A B`: do two calibrations agree, and what does it matter? Exit code 1 if
// they don't.

#include <CLI/App.hpp>

namespace cosched {

void AddProfileCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
