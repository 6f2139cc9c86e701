#include "experiments/comparison_cells.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace cosched {
namespace {

// Empty if there is none that tells anything.
nlohmann::json ManifestOf(const std::filesystem::path& run) {
  std::ifstream stream(run / "manifest.json");
  nlohmann::json manifest = nlohmann::json::parse(stream, nullptr, false);
  return manifest.is_object() ? manifest : nlohmann::json::object();
}

// The order in which the experiment names its policies.
std::vector<std::string> PolicyOrder(const nlohmann::json& manifest) {
  std::vector<std::string> order;
  for (const auto& policy : manifest.value("policies", nlohmann::json::array())) {
    if (policy.is_object()) order.push_back(policy.value("name", ""));
  }
  return order;
}

void AddOnce(const std::string& policy, std::vector<std::string>* policies) {
  if (std::find(policies->begin(), policies->end(), policy) == policies->end()) {
    policies->push_back(policy);
  }
}

Group& FindOrAdd(const CellKey& key, std::vector<Group>* groups) {
  for (Group& group : *groups) {
    if (group.policy == key.policy && group.elasticity == key.elasticity) return group;
  }
  return groups->emplace_back(Group{key.policy, key.elasticity, {}, {}});
}

}  // namespace

std::vector<double> Group::Values(double CellSummary::*metric) const {
  std::vector<double> values;
  for (const ComparedCell& cell : cells) values.push_back(cell.summary.*metric);
  return values;
}

std::vector<double> Group::Values(std::optional<double> CellSummary::*metric) const {
  std::vector<double> values;
  for (const ComparedCell& cell : cells) {
    if (cell.summary.*metric) values.push_back(*(cell.summary.*metric));
  }
  return values;
}

size_t ComparedCells::NameWidth() const {
  size_t width = 16;
  for (const std::string& policy : policies) width = std::max(width, policy.size());
  return width;
}

const Group* ComparedCells::Find(const std::string& policy, Elasticity elasticity) const {
  for (const Group& group : groups) {
    if (group.policy == policy && group.elasticity == elasticity) return &group;
  }
  return nullptr;
}

ComparedCells ReadCells(const std::vector<std::filesystem::path>& runs) {
  ComparedCells result;
  std::vector<std::string> order;
  std::set<std::string> policies;
  std::set<Elasticity> elasticities;
  std::set<std::pair<int, int>> trials;
  for (const std::filesystem::path& run : runs) {
    const nlohmann::json manifest = ManifestOf(run);
    for (const std::string& policy : PolicyOrder(manifest)) AddOnce(policy, &order);
    const nlohmann::json experiment = manifest.value("experiment", nlohmann::json::object());
    const bool simulated = experiment.value("backend", "") == "simulated";
    if (simulated) {
      const std::filesystem::path profile =
          experiment.value("profile", nlohmann::json::object()).value("file", "");
      result.profiles.insert(profile.filename().string());
    }
    for (const CellKey& key : WholeCells(run)) {
      ComparedCell cell{{result.runs, key.trial}, Summarize(run, key), FindThreadExcess(run, key)};
      Group& group = FindOrAdd(key, &result.groups);
      (cell.summary.status == "done" ? group.cells : group.failed).push_back(cell);
      policies.insert(key.policy);
      elasticities.insert(key.elasticity);
      trials.insert(cell.trial);
      ++result.cells;
      result.simulated += simulated ? 1 : 0;
    }
    ++result.runs;
  }
  result.trials = static_cast<int>(trials.size());
  result.elasticities.assign(elasticities.begin(), elasticities.end());
  for (const std::string& policy : order) {
    if (policies.contains(policy)) result.policies.push_back(policy);
  }
  for (const std::string& policy : policies) AddOnce(policy, &result.policies);
  return result;
}

}  // namespace cosched
