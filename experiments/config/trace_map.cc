#include "experiments/config/trace_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "experiments/config/experiment_config.h"

namespace cosched {
namespace {

using Choice = MappingRules::Choice;

constexpr double kMostMappedSteps = 1e9;
constexpr double kMostWork = 1e9;
constexpr double kMostFactor = 1e12;

std::vector<MappingRules::Target> Targets(const ExperimentConfig& config) {
  std::vector<MappingRules::Target> targets;
  for (const WorkloadConfig& workload : config.workloads) {
    const bool serves = workload.spec.serves;
    targets.push_back({workload.name, serves ? 1.0 : workload.weight, serves});
  }
  return targets;
}

std::string RuleNames(const MappingRules& rules) {
  std::vector<std::string> names;
  for (const MappingRules::Target& target : rules.targets) names.push_back(target.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool IsTarget(const MappingRules& rules, const std::string& name) {
  return std::any_of(rules.targets.begin(), rules.targets.end(),
                     [&name](const MappingRules::Target& one) { return one.name == name; });
}

// The keys of { column = "…", VALUE = … } that are values of the column.
std::vector<std::string> ListedValues(const TomlTable& table) {
  std::vector<std::string> values;
  for (const std::string& key : table.Keys()) {
    if (key == "column" || key == "default") continue;
    if (!table.Has(key)) {
      table.Fail("", fmt::format("\"{}\" holds a dot, which a key here can't", key),
                 "values of the column without dots");
    }
    values.push_back(key);
  }
  return values;
}

void ReadByColumn(const TomlTable& table, MappingRules* rules) {
  rules->choice = Choice::kByColumn;
  rules->column = table.String("column");
  const auto read = [&](const std::string& key, bool may_reject) {
    std::string name = table.String(key);
    if (may_reject && name == "reject") return std::string();
    if (!IsTarget(*rules, name))
      table.Fail(key, fmt::format("there is no workload \"{}\"", name),
                 RuleNames(*rules) + (may_reject ? ", or reject" : ""));
    return name;
  };
  for (const std::string& value : ListedValues(table)) rules->values[value] = read(value, true);
  if (!table.Has("default")) {
    table.Fail("default", "is required: where values go that are not listed",
               RuleNames(*rules) + ", or reject");
  }
  rules->otherwise = read("default", true);
}

void ReadMappedWorkload(const TomlTable& map, MappingRules* rules) {
  if (map.IsTable("workload")) return ReadByColumn(map.Table("workload"), rules);
  const std::string text = map.String("workload");
  if (text == "by-weight" || text == "by-hash") {
    rules->choice = text == "by-hash" ? Choice::kByHash : Choice::kByWeight;
    return;
  }
  rules->choice = Choice::kOnly;
  rules->otherwise = text;
  if (!IsTarget(*rules, text)) {
    map.Fail("workload", fmt::format("is \"{}\"", text),
             fmt::format("by-weight, by-hash, {}, or {{ column = \"…\", VALUE = \"…\", default = "
                         "\"reject\" }}",
                         RuleNames(*rules)));
  }
}

MappingRules::Quantity ReadQuantity(const TomlTable& table, double least, double most) {
  QuantitySection().RefuseOthers(table);
  MappingRules::Quantity quantity;
  quantity.column = table.String("column");
  if (table.Has("per_unit") == table.Has("per_step_s")) {
    table.Fail(table.Has("per_unit") ? "per_unit" : "",
               "needs per_unit or per_step_s, and not both",
               "per_unit = steps per unit of the column, or per_step_s = its seconds per step");
  }
  quantity.factor = table.Has("per_unit")
                        ? table.Number("per_unit", {}, 1 / kMostFactor, kMostFactor)
                        : 1 / table.Number("per_step_s", {}, 1 / kMostFactor, kMostFactor);
  quantity.least = table.Number("min", least, least, most);
  quantity.most = table.Number("max", most, quantity.least, most);
  return quantity;
}

void ReadElasticity(const TomlTable& table, MappingRules* rules) {
  rules->elasticity_column = table.String("column");
  for (const std::string& value : ListedValues(table)) {
    const std::string text = table.String(value);
    if (!ParseElasticity(text, &rules->elasticities[value]))
      table.Fail(value, fmt::format("is \"{}\"", text), "rigid, moldable, malleable");
  }
}

std::optional<SectionKey<MappingRules>::Refusal> OfServices(const MappingRules& rules) {
  const bool served = std::any_of(rules.targets.begin(), rules.targets.end(),
                                  [](const MappingRules::Target& one) { return one.serves; });
  if (served) return {};
  return SectionKey<MappingRules>::Refusal{"is of requests, but no workload is a service",
                                           "steps, of jobs"};
}

}  // namespace

const Section<MappingRules::Quantity>& QuantitySection() {
  using Key = SectionKey<MappingRules::Quantity>;
  const auto key = [](const char* name, const char* type, const char* fallback, const char* range,
                      const char* meaning) {
    return Key::Read(
        {.name = name, .type = type, .fallback = fallback, .range = range, .meaning = meaning},
        nullptr, nullptr);
  };
  static const Section<MappingRules::Quantity> section(
      "trace.map.steps, trace.map.work", "how much an arrival has to do",
      {key("column", "text", "required", "a column of the trace", "what tells it"),
       key("per_unit", "number", "this or the next", "above 0", "steps per unit of the column"),
       key("per_step_s", "number", "this or the one before", "above 0",
           "or the column's seconds per step"),
       key("min", "number", "1 step, or 0 work", "up to max", "what is less becomes this"),
       key("max", "number", "1e9", "up to 1e9", "what is more becomes this")});
  return section;
}

const Section<MappingRules>& TraceMapSection() {
  using Key = SectionKey<MappingRules>;
  using R = MappingRules;
  static const Section<MappingRules> section(
      "[trace.map]", "which arrival of a file is a job or request of which workload",
      {Key::Read(
           {.name = "workload",
            .type = "text, table",
            .fallback = "required",
            .range = "by-weight, by-hash, a workload, or { column = \"…\", VALUE = \"…\", "
                     "default = \"reject\" }",
            .meaning = "whose it is"},
           [](const Key&, const TomlTable& map, R* rules) { ReadMappedWorkload(map, rules); },
           nullptr),
       Key::Read(
           {.name = "steps",
            .type = "table",
            .fallback = "the workload's",
            .range = "{ column = \"…\", per_unit = 1 }",
            .meaning = "of a job"},
           [](const Key& key, const TomlTable& map, R* rules) {
             if (map.Has(key.help.name))
               rules->steps = ReadQuantity(map.Table(key.help.name), 1, kMostMappedSteps);
           },
           nullptr),
       Key::Read(
           {.name = "work",
            .type = "table",
            .fallback = "1",
            .range = "{ column = \"…\", per_unit = 1 }",
            .meaning = "of a request"},
           [](const Key& key, const TomlTable& map, R* rules) {
             if (map.Has(key.help.name))
               rules->work = ReadQuantity(map.Table(key.help.name), 0, kMostWork);
           },
           nullptr)
           .RefusedWhere(OfServices),
       Key::EitherWord("cores", &R::cores, "workload", "trace", "who says what a job asks for"),
       Key::Read(
           {.name = "elasticity",
            .type = "table",
            .fallback = "the cell's",
            .range = "{ column = \"…\", VALUE = \"rigid\" }",
            .meaning = "of a job, by a column"},
           [](const Key& key, const TomlTable& map, R* rules) {
             if (map.Has(key.help.name)) ReadElasticity(map.Table(key.help.name), rules);
           },
           nullptr)});
  return section;
}

MappingRules ReadTraceMap(const TomlTable& map, const ExperimentConfig& config) {
  MappingRules rules;
  rules.targets = Targets(config);
  rules.most_cores = config.cores.Count();
  TraceMapSection().Read(map, &rules);
  return rules;
}

MappingRules CoschedMap(const ExperimentConfig& config, bool has_steps) {
  MappingRules rules;
  rules.targets = Targets(config);
  rules.choice = Choice::kByName;
  rules.column = "workload";
  rules.cores = true;
  rules.most_cores = std::numeric_limits<int>::max();  // More than there are is an error.
  if (has_steps) {
    rules.steps = {.column = "steps", .factor = 1, .least = 1, .most = kMostMappedSteps};
    if (config.HasServices())
      rules.work = {.column = "steps", .factor = 1, .least = 1, .most = kMostWork};
  }
  return rules;
}

}  // namespace cosched
