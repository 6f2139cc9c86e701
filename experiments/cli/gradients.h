#pragma once
// `cosched gradients`: one training step's loss and gradients on given weights and images, for
// comparison with another framework.

#include <CLI/CLI.hpp>

namespace cosched {

void AddGradientsCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
