#pragma once
// `cosched calibrate`: measures programs on this machine, or reads published tables, into a profile
// (workloads/profile.h).

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/config/kernel_rates_choice.h"

namespace cosched {

// As on the command line, but for `quick`, which is `cosched reproduce --quick`.
struct CalibrateArguments {
  std::vector<std::string> workloads = {};
  double minutes = 4.8;
  std::string kernel_rates = kMeasuredRates;
  double interval = 0.02;
  uint64_t seed = 1;
  std::string from_published = {};
  std::string out = {};
  bool force = false;
  bool threads_are_cores = false;  // --smt threads
  bool quick = false;              // Of files of figures: the programs that --quick leaves.
};

// Measures the workloads and writes the profile; tells its progress on stderr and what it found on
// stdout. Returns the exit code. Throws InputError.
int MeasurePrograms(const CalibrateArguments& arguments);

void AddCalibrateCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
