#include "experiments/report/report_data.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "experiments/analysis/comparison_json.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/numeric_columns.h"
#include "experiments/records/manifest_file.h"
#include "experiments/report/cell_data.h"
#include "policies/registry.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// What a report tells of a run's manifest; its machine's whole topology is no reading matter.
constexpr const char* kShownOfManifest[] = {
    "status", "started", "finished",       "command_line", "experiment_file", "experiment",
    "build",  "host",    "profile_doubts", "resumed",      "redone",          "left_out"};

class ReportWriter {
 public:
  explicit ReportWriter(const ReportOptions& options) : options_(options) {}

  void AddComparison(const std::string& title, const Json& values,
                     const std::vector<fs::path>& runs, const fs::path& claims_of) {
    const Comparison comparison = ReadComparison(runs, options_.comparison);
    Json places = Json::array();
    for (const fs::path& run : runs) {
      places.push_back(runs_.size());
      runs_.push_back(RunOf(run, claims_of.empty() ? run : claims_of));
    }
    sections_.push_back({{"title", title},
                         {"values", values},
                         {"runs", std::move(places)},
                         {"comparison", ComparisonJson(comparison, options_.comparison)}});
  }

  Json Take() {
    AddRows();
    return {{"command", options_.command},
            {"policies", std::move(policies_)},
            {"sections", std::move(sections_)},
            {"runs", std::move(runs_)}};
  }

 private:
  struct ShownCell {
    int trial;
    size_t run, place;
    fs::path folder;
  };

  std::string LinkTo(const fs::path& path) const {
    std::error_code error;
    const fs::path relative = fs::relative(path, options_.folder, error);
    return (error || relative.empty() ? fs::absolute(path) : relative).generic_string();
  }

  Json RunOf(const fs::path& run, const fs::path& claims_of) {
    Json json = {{"path", run.string()}, {"link", LinkTo(run)}};
    const Json manifest = ReadManifest(run).value_or(Json::object());
    for (const char* key : kShownOfManifest)
      if (manifest.contains(key)) json[key] = manifest[key];
    if (json.contains("host") && json["host"].is_object()) json["host"].erase("topology_xml");
    json["claims"] = ClaimsOf(claims_of);
    json["columns"] = Json::array();
    ForEachNumericColumn<CellSummary>(
        [&](std::string_view name, const auto& /*number*/) { json["columns"].push_back(name); });
    json["service_columns"] = Json::array();
    ForEachNumericColumn<ServiceSummary>([&](std::string_view name, const auto& /*number*/) {
      json["service_columns"].push_back(name);
    });
    json["cells"] = Json::array();
    for (const Json& policy : manifest.value("/experiment/policies"_json_pointer, Json::array()))
      if (policy.is_string()) AddPolicy(policy);
    for (const Json& settings : manifest.value("/experiment/policy"_json_pointer, Json::object()))
      if (settings.is_object() && settings.contains("use")) AddPolicy(settings["use"]);
    for (const CellKey& key : WholeCells(run)) {
      try {
        json["cells"].push_back(CellOf(run, key, json["cells"].size()));
      } catch (const InputError&) {
        // The comparison's notes say which cells can't be read, and why.
      }
    }
    return json;
  }

  // Those of cosched's own; what another one does its experiment says.
  void AddPolicy(const std::string& name) {
    if (const PolicyInfo* const policy = FindPolicy(name)) policies_[name] = policy->summary;
  }

  // In the order of the columns; null where there is none.
  template <typename Summary>
  static Json NumbersOf(const Summary& summary) {
    Json values = Json::array();
    ForEachNumericColumn<Summary>([&](std::string_view /*name*/, const auto& number) {
      const std::optional<double> value = number(summary);
      values.push_back(value ? Json(*value) : Json());
    });
    return values;
  }

  // place: in the list of its run's.
  Json CellOf(const fs::path& run, const CellKey& key, size_t place) {
    const CellSummary summary = Summarize(run, key);
    const fs::path folder = CellFolder(run, key);
    Json json = {{"policy", key.policy},     {"elasticity", ToString(key.elasticity)},
                 {"trial", key.trial},       {"status", summary.status},
                 {"reason", summary.reason}, {"marks", summary.marks},
                 {"link", LinkTo(folder)},   {"files", FilesOf(folder)}};
    json["values"] = NumbersOf(summary);
    json["services"] = Json::array();
    for (const ServiceSummary& service : summary.services)
      json["services"].push_back({{"service", service.service}, {"values", NumbersOf(service)}});
    shown_.push_back({key.trial, runs_.size(), place, folder});
    return json;
  }

  // Jobs and grants of every cell while there is room: of all treatments' first trials first, so
  // that none is shown at another's cost.
  void AddRows() {
    std::ranges::stable_sort(shown_, {}, &ShownCell::trial);
    size_t room = static_cast<size_t>(options_.most_shown_rows);
    for (const ShownCell& cell : shown_) {
      if (room == 0) return;
      try {
        Json data = CellData(cell.folder);
        const size_t spans = data.contains("spans") ? data["spans"].size() : 0;
        const size_t rows = data["jobs"].size() + spans;
        if (rows > room) continue;  // A smaller one may still fit.
        room -= rows;
        runs_[cell.run]["cells"][cell.place]["data"] = std::move(data);
      } catch (const InputError&) {
        // As in RunOf.
      }
    }
  }

  // Names of the records, by which one finds the raw rows.
  static Json FilesOf(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      if (entry.is_regular_file(error)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }

  // Of a published figure, as its script has judged them; none elsewhere.
  static Json ClaimsOf(const fs::path& run) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(run / "plots", error))
      if (entry.path().filename().string().ends_with(".claims.json")) files.push_back(entry.path());
    std::ranges::sort(files);
    Json all = Json::array();
    for (const fs::path& file : files) {
      std::ifstream stream(file);
      Json json = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
      if (json.is_object() && json.contains("claims")) all.push_back(std::move(json));
    }
    return all;
  }

  const ReportOptions& options_;
  Json policies_ = Json::object(), sections_ = Json::array(), runs_ = Json::array();
  std::vector<ShownCell> shown_;
};

}  // namespace

Json ReportData(const std::vector<fs::path>& runs, const ReportOptions& options) {
  ReportWriter report(options);
  std::vector<fs::path> compared;
  for (const fs::path& run : runs)
    if (!IsSweep(run)) compared.push_back(run);
  if (!compared.empty()) report.AddComparison("", Json::object(), compared, {});
  for (const fs::path& run : runs) {
    if (!IsSweep(run)) continue;
    for (const SweepPointFolder& point : SweepPointFolders(run)) {
      if (WholeCells(point.folder).empty()) continue;
      report.AddComparison(point.folder.lexically_relative(run).string(), point.values,
                           {point.folder}, run);
    }
  }
  return report.Take();
}

}  // namespace cosched
