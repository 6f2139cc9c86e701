#pragma once
// What a results folder knows of published figures: the plan of each, what became of it, its claims
// with their verdicts. Kept in DIR/reproduce.json, as experiments/schemas/reproduce.schema.json says,
// and shown by DIR/reproduce.html. Used by `cosched reproduce` on one thread.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/cli/figure_plan.h"

namespace cosched {

inline constexpr const char* kReproduceSchema = "cosched-reproduce";
inline constexpr int kReproduceVersion = 1;

class Reproduction {
 public:
  // Reads what is there. Throws InputError (key --out) if it can't be read.
  Reproduction(std::filesystem::path folder, const Topology& topology);

  // A figure that has not run: its plan, with the time that it took when it ran before (here; or on
  // the machine that experiments/figures/times.json names), and its claims without verdicts.
  nlohmann::ordered_json Planned(const FigurePlan& plan, bool quick) const;
  // As it is kept; null if there is none of that name and mode.
  const nlohmann::ordered_json* Find(const std::string& name, bool quick) const;
  void Put(nlohmann::ordered_json figure);
  // Writes both files, with what another process has put there meanwhile. Throws OutputError.
  void Save();

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path page() const { return folder_ / "reproduce.html"; }
  // As the schema says.
  nlohmann::ordered_json Json(const nlohmann::ordered_json& figures) const;

 private:
  void ReadOthers();

  std::filesystem::path folder_;
  std::set<std::pair<std::string, bool>> put_;  // Names and modes of those that this process put.
  nlohmann::ordered_json machine_;
  nlohmann::ordered_json figures_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json reference_;  // times.json.
};

}  // namespace cosched
