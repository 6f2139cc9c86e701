#pragma once
// --policy-library FILE and --policy-exec CMD: policies from outside of the tree on the command
// line, which become [policy.<name>] of the experiment, so that records, --resume and --dry-run see
// one and the same thing.

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "policies/external/external_policy.h"

namespace cosched {

struct ExternalPolicyArguments {
  std::vector<std::string> libraries;
  std::vector<std::string> commands;
};

void AddExternalPolicyOptions(CLI::App* command, ExternalPolicyArguments* arguments);

// Under the names that they call themselves. Throws InputError about the option.
std::vector<std::shared_ptr<const ExternalPolicy>> OpenExternalPolicies(
    const ExternalPolicyArguments& arguments);
// Adds the --set overrides that make it a policy of the experiment.
void AddOverrides(const ExternalPolicy& policy, std::vector<std::string>* overrides);

std::string TomlString(const std::string& text);  // Quoted and escaped.

}  // namespace cosched
