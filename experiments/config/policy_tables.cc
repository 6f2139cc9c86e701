#include "experiments/config/policy_tables.h"

#include <fmt/format.h>

#include "engine/base/did_you_mean.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr double kLongestAnswerSeconds = 86'400;

// An error about a policy, told where the experiment speaks of it.
[[noreturn]] void BlamePolicy(const TomlTable& table, const std::string& name,
                              const InputError& error) {
  const std::string prefix = fmt::format("policy.{}.", name);
  const InputErrorDetails& details = error.details();
  const bool is_parameter = details.key.starts_with(prefix);
  table.Fail(is_parameter ? details.key.substr(prefix.size()) : details.key, details.problem,
             details.allowed);
}

bool IsParameter(const ExternalPolicy* external, const std::string& key) {
  if (!external) return true;
  if (key == "library" || key == "exec") return false;
  return external->command.empty() || (key != "directory" && key != "time_limit_s");
}

}  // namespace

void ReadExternalPolicies(const TomlTable& root, const std::filesystem::path& folder,
                          ExperimentConfig* config) {
  const TomlTable policies = root.Table("policy");
  for (const std::string& name : policies.Keys()) {
    const TomlTable table = policies.Table(name);
    const bool is_program = table.Has("exec");
    if (!is_program && !table.Has("library")) continue;
    if (is_program && table.Has("library"))
      table.Fail("exec", "has no meaning beside library", "one of the two");
    try {
      if (is_program) {
        const double limit_s = table.Number("time_limit_s", 1, 0.001, kLongestAnswerSeconds);
        config->external_policies[name] =
            OpenPolicyProgram(table.String("exec"), folder / table.String("directory", "."),
                              FromSeconds(limit_s), name);
      } else {
        config->external_policies[name] = OpenPolicyLibrary(folder / table.String("library"), name);
      }
    } catch (const InputError& error) {
      if (!error.details().file.empty()) throw;
      BlamePolicy(table, name, error);
    }
  }
}

void ReadPolicyParameters(const TomlTable& root, ExperimentConfig* config) {
  const TomlTable policies = root.Table("policy");
  for (const std::string& name : policies.Keys()) {
    if (!config->FindPolicy(name)) {
      policies.Fail(name, "there is no such policy" + DidYouMean(name, config->PolicyNames()),
                    config->PolicyNames() + ", or one with library or exec");
    }
    const auto found = config->external_policies.find(name);
    const ExternalPolicy* external =
        found == config->external_policies.end() ? nullptr : found->second.get();
    const TomlTable table = policies.Table(name);
    PolicyParameters& parameters = config->policy_parameters[name];
    for (const std::string& key : table.Keys()) {
      if (IsParameter(external, key)) parameters[key] = table.ScalarText(key);
    }
    try {
      const std::string why_not = external ? WhyProgramRefuses(*external, parameters) : "";
      if (!why_not.empty())
        table.Fail("exec", "the program does not start: " + why_not, "parameters that it takes");
      if (!external) config->NewPolicy(name);
    } catch (const InputError& error) {
      if (!error.details().file.empty()) throw;
      BlamePolicy(table, name, error);
    }
  }
}

}  // namespace cosched
