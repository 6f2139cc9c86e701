#include "experiments/analysis/service_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "experiments/analysis/paired_effects.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

constexpr const char* kServiceFormat =
    "{}{:<16} {:<9} {:>8} {:>7}  {:<16} {:<16} {:<16} {:<13} {:<16} {}\n";

std::string ServiceRow(const CellGroup& group, const std::string& name) {
  std::vector<ServiceSummary> services;  // This one, in each cell.
  for (const ComparedCell* cell : group.Shown()) {
    std::copy_if(cell->summary.services.begin(), cell->summary.services.end(),
                 std::back_inserter(services),
                 [&name](const ServiceSummary& service) { return service.service == name; });
  }
  if (services.empty()) return "";
  const auto text = [&services](auto metric, std::string (*format)(double), int width) {
    std::vector<double> values;
    for (const ServiceSummary& service : services) {
      const std::optional<double> value = std::invoke(metric, service);
      if (value) values.push_back(*value);
    }
    return MedianText(values, format, width);
  };
  int64_t requests = 0, dropped = 0;
  for (const ServiceSummary& service : services) {
    requests += service.requests;
    dropped += service.dropped;
  }
  return fmt::format(fmt::runtime(kServiceFormat), group.LossyCells() > 0 ? "! " : "  ",
                     group.policy, ToString(group.elasticity), requests, dropped,
                     text(&ServiceSummary::p50_latency_ms, RoundedText, 5),
                     text(&ServiceSummary::p99_latency_ms, RoundedText, 5),
                     text(&ServiceSummary::throughput_per_s, RoundedText, 5),
                     text(&ServiceSummary::slo_attainment, ShareText, 4),
                     text(&ServiceSummary::goodput_per_s, RoundedText, 5),
                     text(&ServiceSummary::ViolatedShare, ShareText, 4));
}

std::set<std::string> ServiceNames(const ComparedCells& cells) {
  std::set<std::string> names;
  for (const CellGroup& group : cells.groups) {
    for (const ComparedCell& cell : group.cells)
      for (const ServiceSummary& service : cell.summary.services) names.insert(service.service);
  }
  return names;
}

}  // namespace

std::string ServiceTable(const ComparedCells& cells) {
  std::string text;
  std::set<int> trials;
  for (const CellGroup& group : cells.groups) trials.insert(static_cast<int>(group.Shown().size()));
  for (const std::string& name : ServiceNames(cells)) {
    text += fmt::format(
        "\nservice {}: latency from when a request was due; medians over trials{}, requests of "
        "all\n",
        name, LevelsText(trials));
    text += fmt::format(fmt::runtime(kServiceFormat), "  ", "policy", "class", "requests",
                        "dropped", "   p50 ms", "   p99 ms", "   served/s", "  in SLO %",
                        "   goodput/s", "  windows above SLA %");
    for (const Elasticity elasticity : cells.elasticities) {
      for (const std::string& policy : cells.policies) {
        if (const CellGroup* group = cells.Find(policy, elasticity))
          text += ServiceRow(*group, name);
      }
    }
  }
  return text;
}

}  // namespace cosched
