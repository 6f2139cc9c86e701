#pragma once
// Policies from outside of the tree, under the names that an experiment gives them. Each experiment
// has its own table (ExperimentConfig::external_policies); nothing is registered globally. A
// registered policy and an external one differ in where their PolicyInfo comes from only.
//
//   [policy.mine]
//   library = "largest_first.so"       # policies/policy_library.h; relative to the file
//
//   [policy.yours]
//   exec = "python3 shortest_first.py" # policies/external/policy_protocol.h; runs in the file's
//   folder, directory = "elsewhere"            #   or in this one, relative to the file's
//   time_limit_s = 1                   # for one answer
//
//   [policy.theirs]
//   use = "roma-ct"                    # a registered one, with other parameters
//
// Every other key of the table is a parameter of the policy.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "policies/registry.h"

namespace cosched {

struct ExternalPolicy {
  std::string name;
  std::string uses;     // The registered policy that it is; "" = none.
  std::string library;  // Absolute path; "" = it is a program.
  std::string command;  // The program's command, run by sh in `directory`.
  std::filesystem::path directory;
  Duration time_limit = std::chrono::seconds(1);

  // What it says of itself, under `name`. Its texts live as long as this.
  PolicyInfo info;
  std::vector<std::string> texts;
  std::vector<PolicyParameter> parameters;
};

// Both ask the policy what it is; name: "" = what it calls itself. Throw InputError with key
// "library" or "exec": not there, not one of ours, another version, or a name that is taken or
// can't be a folder.
std::shared_ptr<const ExternalPolicy> OpenPolicyLibrary(const std::filesystem::path& file,
                                                        const std::string& name);
std::shared_ptr<const ExternalPolicy> OpenPolicyProgram(const std::string& command,
                                                        const std::filesystem::path& directory,
                                                        Duration time_limit,
                                                        const std::string& name);

// That registered policy under another name, which its parameters may tell apart. Throws InputError
// with key "use" about a name that is taken or can't be a folder.
std::shared_ptr<const ExternalPolicy> VariantOf(const PolicyInfo& policy, const std::string& name);

// Starts the program with these parameters and ends it: why it refuses them, "" if it does not.
std::string WhyProgramRefuses(const ExternalPolicy& policy, const PolicyParameters& parameters);

}  // namespace cosched
