#pragma once
// `cosched calibrate`: measures programs on this machine, or reads published tables, into a profile
// (workloads/profile.h).

#include <CLI/App.hpp>

namespace cosched {

void AddCalibrateCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
