#include "experiments/cli/policy_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"

namespace cosched {

void AddExternalPolicyOptions(CLI::App* command, ExternalPolicyArguments* arguments) {
  command
      ->add_option("--policy-library", arguments->libraries,
                   "Also a policy from this shared library (may be repeated)")
      ->allow_extra_args(false);
  command
      ->add_option("--policy-exec", arguments->commands,
                   "Also a policy that is a program, which this command starts (may be repeated)")
      ->allow_extra_args(false);
}

std::vector<std::shared_ptr<const ExternalPolicy>> OpenExternalPolicies(
    const ExternalPolicyArguments& arguments) {
  std::vector<std::shared_ptr<const ExternalPolicy>> policies;
  try {
    for (const std::string& file : arguments.libraries)
      policies.push_back(OpenPolicyLibrary(file, ""));
    for (const std::string& command : arguments.commands) {
      policies.push_back(
          OpenPolicyProgram(command, std::filesystem::current_path(), std::chrono::seconds(1), ""));
    }
  } catch (const InputError& error) {
    InputErrorDetails details = error.details();
    details.key = "--policy-" + details.key;
    throw InputError(details);
  }
  return policies;
}

void AddOverrides(const ExternalPolicy& policy, std::vector<std::string>* overrides) {
  const auto set = [&](const char* key, const std::string& value) {
    overrides->push_back(fmt::format("policy.{}.{}={}", policy.name, key, TomlString(value)));
  };
  if (!policy.library.empty()) return set("library", policy.library);
  set("exec", policy.command);
  set("directory", policy.directory.string());
}

std::string TomlString(const std::string& text) {
  try {
    return nlohmann::json(text).dump();  // TOML's basic strings escape as JSON's do.
  } catch (const nlohmann::json::type_error&) {
    throw InputError({.file = "command line",
                      .problem = "has a text that is not UTF-8",
                      .allowed = "names and paths in UTF-8"});
  }
}

}  // namespace cosched
