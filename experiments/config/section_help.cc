#include "experiments/config/section_help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "experiments/config/cluster_table.h"
#include "experiments/config/device_table.h"
#include "experiments/config/dispatch_table.h"
#include "experiments/config/distribution_table.h"
#include "experiments/config/experiment_sections.h"
#include "experiments/config/figure_table.h"
#include "experiments/config/gate_table.h"
#include "experiments/config/machine_table.h"
#include "experiments/config/policy_tables.h"
#include "experiments/config/sweep.h"
#include "experiments/config/trace_map.h"
#include "experiments/config/trace_sources.h"
#include "experiments/config/trace_table.h"
#include "experiments/config/workload_table.h"

namespace cosched {

std::vector<SectionHelp> SectionsHelp() {
  return {RootSection().Help(),
          MachineSection().Help(),
          ContainerSection().Help(),
          SimulationSection().Help(),
          ClusterSection().Help(),
          ClusterMachinesSection().Help(),
          SamplingSection().Help(),
          RecordsSection().Help(),
          WorkloadSection().Help(),
          CoreRequestSection().Help(),
          ServicesSection().Help(),
          DeviceSection().Help(),
          GateSection().Help(),
          PolicyHelp(),
          DispatchHelp(),
          TraceSection().Help(),
          RequestStreamSection().Help(),
          LoadPhaseSection().Help(),
          GapSection().Help(),
          TraceSourceSection().Help(),
          TraceMapSection().Help(),
          QuantitySection().Help(),
          SweepHelp(),
          QuickHelp(),
          FigureSection().Help()};
}

std::string InlineToml(const nlohmann::ordered_json& value) {
  if (!value.is_array() && !value.is_object()) return value.dump();
  std::vector<std::string> items;
  for (const auto& [key, item] : value.items()) {
    if (!item.is_null())
      items.push_back((value.is_object() ? key + " = " : std::string()) + InlineToml(item));
  }
  const std::string all = fmt::format("{}", fmt::join(items, ", "));
  return value.is_array() ? fmt::format("[{}]", all) : fmt::format("{{ {} }}", all);
}

std::string IntegerRange(int64_t min, int64_t max) {
  return max == INT64_MAX ? fmt::format("{} or more", min) : fmt::format("{} to {}", min, max);
}

std::string NumberRange(double min, double max) { return fmt::format("{} to {}", min, max); }

std::string WordsRange(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace cosched
