#pragma once
// What `cosched list` lists: each as its table and as JSON, from the same rows. Called by that
// command. Thread-safe.

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/cli/policy_options.h"

namespace cosched {

struct Listing {
  std::string text;
  nlohmann::ordered_json items;  // As experiments/schemas/list.schema.json has them.
};

// Those of the tree, and external ones. Throws InputError as OpenExternalPolicies.
Listing ListPolicies(const ExternalPolicyArguments& arguments);
Listing ListDispatches();
Listing ListModels();
Listing ListFormats();
Listing ListExperiments();
Listing ListFigures();
// section: "" = all; "machine" or "[machine]", with the tables inside of it. Throws InputError if
// there is none.
Listing ListKeys(const std::string& section);

}  // namespace cosched
