#include "experiments/config/policy_tables.h"

#include <fmt/format.h>

#include "engine/base/did_you_mean.h"
#include "engine/base/error.h"
#include "experiments/config/parameter_values.h"

namespace cosched {
namespace {

constexpr double kShortestAnswerSeconds = 0.001;
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
  if (key == "dispatch") return false;
  if (!external) return true;
  if (key == "library" || key == "exec" || key == "use") return false;
  return external->command.empty() || (key != "directory" && key != "time_limit_s");
}

// [policy.NAME] with use: a registered policy under another name.
std::shared_ptr<const ExternalPolicy> ReadVariant(const TomlTable& table, const std::string& name) {
  for (const char* other : {"exec", "library"}) {
    if (table.Has(other)) table.Fail(other, "has no meaning beside use", "one of the two");
  }
  const std::string used = table.String("use");
  const PolicyInfo* policy = FindPolicy(used);
  if (!policy) {
    table.Fail("use",
               fmt::format("there is no policy \"{}\"", used) + DidYouMean(used, PolicyNames()),
               PolicyNames());
  }
  try {
    return VariantOf(*policy, name);
  } catch (const InputError& error) {
    BlamePolicy(table, name, error);
  }
}

}  // namespace

SectionHelp PolicyHelp() {
  return {.heading = "[policy.NAME]",
          .about =
              "parameters of a policy, as `cosched list policies` has them, and for one from "
              "outside of the tree:",
          .keys = {{.name = "library",
                    .type = "text",
                    .fallback = "none",
                    .range = "a file, relative to this one",
                    .meaning = "the shared library that holds it"},
                   {.name = "exec",
                    .type = "text",
                    .fallback = "none",
                    .range = "a command",
                    .meaning = "the program that decides"},
                   {.name = "use",
                    .type = "text",
                    .fallback = "none",
                    .range = "a policy of `cosched list policies`",
                    .meaning = "NAME is that one, with the parameters that stand here"},
                   {.name = "dispatch",
                    .type = "text or table",
                    .fallback = "that of [services]",
                    .range = "as services.dispatch",
                    .meaning = "which dispatch goes with the policy"},
                   {.name = "directory",
                    .type = "text",
                    .fallback = "\".\"",
                    .range = "a folder, relative to this file",
                    .meaning = "where the program starts"},
                   {.name = "time_limit_s",
                    .type = "number",
                    .fallback = "1",
                    .range = NumberRange(kShortestAnswerSeconds, kLongestAnswerSeconds),
                    .meaning = "in which the program answers"}}};
}

std::vector<KeyValue> PolicyValues(const ExperimentConfig& config, const std::string& name) {
  std::vector<KeyValue> keys;
  if (const auto external = config.external_policies.find(name);
      external != config.external_policies.end()) {
    const ExternalPolicy& policy = *external->second;
    if (!policy.uses.empty()) {
      keys = {{"use", policy.uses, {}}};
    } else if (policy.library.empty()) {
      keys = {{"exec", policy.command, {}},
              {"directory", policy.directory.string(), {}},
              {"time_limit_s", ToSeconds(policy.time_limit), {}}};
    } else {
      keys = {{"library", policy.library, {}}};
    }
  }
  const auto given = config.policy_parameters.find(name);
  const std::vector<KeyValue> values =
      ParameterValues(config.FindPolicy(name)->parameters,
                      given == config.policy_parameters.end() ? nullptr : &given->second);
  keys.insert(keys.end(), values.begin(), values.end());
  return keys;
}

void ReadExternalPolicies(const TomlTable& root, ExperimentConfig* config) {
  const std::filesystem::path folder = root.Folder();
  const TomlTable policies = root.Table("policy");
  for (const std::string& name : policies.Keys()) {
    const TomlTable table = policies.Table(name);
    const bool is_program = table.Has("exec");
    if (table.Has("use")) {
      config->external_policies[name] = ReadVariant(table, name);
      continue;
    }
    if (!is_program && !table.Has("library")) continue;
    if (is_program && table.Has("library"))
      table.Fail("exec", "has no meaning beside library", "one of the two");
    try {
      if (is_program) {
        const double limit_s =
            table.Number("time_limit_s", 1, kShortestAnswerSeconds, kLongestAnswerSeconds);
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
