#include "experiments/cli/validation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/records/manifest_file.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

ValidatedRuns DescribeRuns(const ValidationRuns& runs) {
  ValidatedRuns described{.runs = runs};
  const std::optional<nlohmann::json> manifest = ReadManifest(runs.measured);
  if (manifest && manifest->contains("experiment"))
    described.seed = (*manifest)["experiment"].value("seed", uint64_t{0});
  const nlohmann::json traces = TracesOf(runs.measured);
  described.one_trace =
      traces.size() > 1 && std::all_of(traces.begin(), traces.end(),
                                       [&](const auto& trace) { return trace == traces.front(); });
  return described;
}

std::optional<EarliestDifference> FindEarliest(const Validation& validation,
                                               const std::vector<ValidationRuns>& runs) {
  std::optional<EarliestDifference> earliest;
  for (const CellPair& pair : validation.pairs) {
    if (pair.decided_alike) continue;
    const ValidationRuns& of_pair = runs[static_cast<size_t>(pair.run)];
    auto diff = FindFirstDifference(CellFolder(of_pair.measured, pair.key),
                                    CellFolder(of_pair.simulated, pair.key));
    if (!diff || (earliest && diff->same >= earliest->diff.same)) continue;
    earliest = EarliestDifference{of_pair, pair.key, std::move(*diff)};
  }
  return earliest;
}

std::string RunsText(const ValidatedRuns& validated) {
  return fmt::format(
             "measured:  {}\nsimulated: {}\n  seed {}; calibration draws no trace: it measures by "
             "fixed timetables\n",
             validated.runs.measured.string(), validated.runs.simulated.string(), validated.seed) +
         (validated.one_trace
              ? "  every trial replays the same arrivals: the intervals are about this machine, "
                "not about other traces\n"
              : "");
}

std::string DifferenceText(const std::optional<EarliestDifference>& difference) {
  if (!difference) return "\nall decisions are alike in all cells\n";
  return fmt::format(
      "\nthe earliest decision that differs, {} (all of them: cosched diff {} {}):\n{}",
      ToString(difference->key), difference->runs.measured.string(),
      difference->runs.simulated.string(), DiffText(difference->diff, "measured", "simulated"));
}

Json SideJson(const DiffSide& side) {
  if (!side.decision) return nullptr;
  return {{"time_s", side.decision->time_s},
          {"event", side.decision->event},
          {"allocation", side.decision->allocation}};
}

Json DifferenceJson(const std::optional<EarliestDifference>& difference) {
  if (!difference) return nullptr;
  return {{"cell", ToString(difference->key)},
          {"measured_run", difference->runs.measured.string()},
          {"simulated_run", difference->runs.simulated.string()},
          {"decided_alike_before", difference->diff.same},
          {"measured", SideJson(difference->diff.a)},
          {"simulated", SideJson(difference->diff.b)}};
}

Json StepsJson(const std::vector<StepTimes>& kinds) {
  Json json = Json::array();
  for (const StepTimes& kind : kinds) {
    json.push_back({{"what", kind.what},
                    {"workload", kind.workload},
                    {"cores", kind.cores},
                    {"shared", kind.shared},
                    {"measured_s", kind.measured},
                    {"simulated_s", kind.simulated},
                    {"measured_by_cell_s",
                     kind.cells ? Json::array({kind.cells->first, kind.cells->second}) : Json()}});
  }
  return json;
}

}  // namespace

ValidationReport MakeValidationReport(const std::vector<ValidationRuns>& runs,
                                      const std::vector<ValidationRuns>& again,
                                      const ValidationLimits& limits) {
  ValidationReport report{.runs = {},
                          .validation = Validate(runs),
                          .steps = CompareSteps(runs),
                          .difference = std::nullopt,
                          .gates = {}};
  if (!again.empty()) AddAgain(again, &report.validation);
  for (const ValidationRuns& both : runs) report.runs.push_back(DescribeRuns(both));
  report.difference = FindEarliest(report.validation, runs);
  report.gates = JudgeGates(report.validation, limits);
  return report;
}

std::string ValidationReportText(const ValidationReport& report) {
  std::string text;
  for (const ValidatedRuns& runs : report.runs) text += RunsText(runs);
  return text + "\n" + ValidationTable(report.validation) + StepTimesTable(report.steps) +
         DifferenceText(report.difference) + "\n" + GatesText(report.gates);
}

Json ValidationReportJson(const ValidationReport& report, int exit_code) {
  Json runs = Json::array();
  for (const ValidatedRuns& validated : report.runs) {
    runs.push_back({{"measured", validated.runs.measured.string()},
                    {"simulated", validated.runs.simulated.string()},
                    {"seed", validated.seed},
                    {"one_trace", validated.one_trace}});
  }
  return {{"schema", "cosched-validate"},
          {"version", 1},
          {"exit", exit_code},
          {"runs", std::move(runs)},
          {"validation", ValidationJson(report.validation)},
          {"steps", StepsJson(report.steps)},
          {"first_difference", DifferenceJson(report.difference)},
          {"gates", GatesJson(report.gates)}};
}

nlohmann::json TracesOf(const std::filesystem::path& run) {
  nlohmann::json trials = nlohmann::json::array();
  const std::optional<nlohmann::json> manifest = ReadManifest(run);
  if (!manifest) return trials;
  for (const char* drawn : {"traces", "requests", "clients"}) {
    const nlohmann::json of_trials = manifest->value(drawn, nlohmann::json::array());
    for (size_t trial = 0; trial < of_trials.size(); ++trial)
      trials[trial].push_back(of_trials[trial]);
  }
  return trials;
}

}  // namespace cosched
