#pragma once
// Why simulated figures that rest on a profile may be wrong, in a line each: what was not measured,
// what was measured badly, and how far the experiment goes beyond it. `cosched run`, `replay` and
// `validate` print the doubts when they start and keep them in the manifest, for whoever compares
// the results. Pure.

#include <string>
#include <vector>

#include "experiments/config/experiment_config.h"
#include "experiments/config/sweep.h"

namespace cosched {

// Beyond so many times the measured cores a fitted curve says nothing any more, unless one insists.
inline constexpr int kMostExtrapolation = 4;

// None where nothing rests on the profile: on hardware, with policies that do not go by speed.
std::vector<std::string> ProfileDoubts(const ExperimentConfig& config);
std::vector<std::string> ProfileDoubts(const Sweep& sweep);  // Doubts of all points, each once.

// Throws InputError (key machine.profile) where more than kMostExtrapolation times the measured
// cores would be simulated and config.extrapolate does not ask for it. root: of the file.
void RefuseExtrapolation(const TomlTable& root, const ExperimentConfig& config);

}  // namespace cosched
