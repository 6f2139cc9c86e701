#pragma once
// cosched pipeline run classify: images of a folder to the classes that a network sees in them.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddClassifyCommand(CLI::App* run, int* exit_code);

}  // namespace cosched
