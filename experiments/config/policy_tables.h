#pragma once
// The [policy.<name>] tables of an experiment file: where policies from outside of the tree come
// from, and the parameters of all. Called by LoadConfig and --dry-run.

#include <string>
#include <vector>

#include "experiments/config/experiment_config.h"
#include "experiments/config/section.h"
#include "experiments/config/section_help.h"
#include "experiments/config/toml_table.h"

namespace cosched {

// Keys of a [policy.<name>] beside the policy's own parameters (`cosched list policies`).
SectionHelp PolicyHelp();
// What they are for this policy, and its parameters, defaults included. REQUIRES: the experiment
// names it.
std::vector<KeyValue> PolicyValues(const ExperimentConfig& config, const std::string& name);

// Loads the libraries and asks the programs what they are. Throws InputError.
void ReadExternalPolicies(const TomlTable& root, ExperimentConfig* config);
// Makes every policy once, so that a wrong parameter is told before anything runs. Throws
// InputError.
void ReadPolicyParameters(const TomlTable& root, ExperimentConfig* config);

}  // namespace cosched
