#pragma once
// cosched doctor: what this machine offers to an experiment, and what to do about what it lacks.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddDoctorCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
