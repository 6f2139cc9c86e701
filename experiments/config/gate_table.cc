#include "experiments/config/gate_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/did_you_mean.h"

namespace cosched {
namespace {

using GateKey = SectionKey<GateConfig>;

constexpr double kLargestLimit = 1e15;

GateKey Limit(const std::string& name, std::optional<double> GateConfig::*member,
              const std::string& meaning) {
  return GateKey::Read(
      {.name = name,
       .type = "number",
       .fallback = "none",
       .range = "any number",
       .meaning = meaning},
      [member](const GateKey& key, const TomlTable& table, GateConfig* gate) {
        if (table.Has(key.help.name))
          gate->*member = table.Number(key.help.name, {}, -kLargestLimit, kLargestLimit);
      },
      [member](const GateConfig& gate) -> nlohmann::ordered_json {
        return gate.*member ? nlohmann::ordered_json(*(gate.*member)) : nlohmann::ordered_json();
      });
}

// May be one that does not run now (--policy): then the gate has no data, and fails.
void CheckGatePolicy(const TomlTable& table, const ExperimentConfig& config, const char* key,
                     const std::string& policy) {
  if (config.FindPolicy(policy) != nullptr) return;
  table.Fail(
      key,
      fmt::format("there is no policy \"{}\"", policy) + DidYouMean(policy, config.PolicyNames()),
      fmt::format("{}", fmt::join(config.policies, ", ")));
}

void CheckGateService(const TomlTable& table, const ExperimentConfig& config,
                      const std::string& service) {
  std::vector<std::string> names;
  for (const WorkloadConfig& workload : config.workloads)
    if (workload.spec.serves) names.push_back(workload.name);
  if (std::find(names.begin(), names.end(), service) != names.end()) return;
  const std::string known = fmt::format("{}", fmt::join(names, ", "));
  table.Fail("service",
             fmt::format("there is no service \"{}\"", service) + DidYouMean(service, known),
             known.empty() ? "a [[workload]] with mode = \"serve\"" : known);
}

}  // namespace

const Section<GateConfig>& GateSection() {
  using G = GateConfig;
  static const Section<GateConfig> section(
      "[[gate]]", "what the results have to be, else `run` and `compare` exit with 1; any number",
      {GateKey::Text("metric", &G::metric, "a column of summary.csv or services.csv",
                     "its median over trials is judged; _s at its end may be left out")
           .Required(),
       GateKey::Text("policy", &G::policy, "a policy", "whose results").Required(),
       GateKey::Choice(
           "elasticity", &G::elasticity,
           std::vector{Elasticity::kRigid, Elasticity::kMoldable, Elasticity::kMalleable},
           "of which tenants")
           .Default("each of the experiment's"),
       GateKey::Text("service", &G::service, "a [[workload]] with mode = \"serve\"",
                     "of which service, if the metric is one of services")
           .Default("each of them"),
       GateKey::Text("against", &G::against, "another policy",
                     "limits are of the ratios to it, trial by trial; 0.95 = 5 % below")
           .Default("none: of the metric itself"),
       Limit("min", &G::min, "the least that it may be"),
       Limit("max", &G::max, "the most that it may be; one of min and max is required")});
  return section;
}

std::vector<GateConfig> ReadGateTables(const TomlTable& root, const ExperimentConfig& config) {
  std::vector<GateConfig> gates;
  for (const TomlTable& table : root.Tables("gate")) {
    GateConfig& gate = gates.emplace_back();
    GateSection().Read(table, &gate);
    CheckGatePolicy(table, config, "policy", gate.policy);
    if (!gate.against.empty()) CheckGatePolicy(table, config, "against", gate.against);
    if (gate.against == gate.policy)
      table.Fail("against", fmt::format("is the gate's own policy, {}", gate.policy),
                 "another policy");
    if (!gate.service.empty()) CheckGateService(table, config, gate.service);
    if (!gate.min && !gate.max) table.Fail("", "has no limit", "min, max, or both");
    if (gate.min && gate.max && *gate.min > *gate.max)
      table.Fail("min", fmt::format("is {}, above max, {}", *gate.min, *gate.max), "min <= max");
  }
  return gates;
}

}  // namespace cosched
