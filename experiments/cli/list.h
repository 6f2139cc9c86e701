#pragma once
// cosched list policies|models|formats|…: what an experiment file may name, and what comes with
// cosched.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddListCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
