#pragma once
// What `cosched reproduce` prints before it starts: cells, minutes, disk and cores of each figure,
// what can't run here and why, and totals. Pure.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cosched {

// figures: as experiments/schemas/reproduce.schema.json says, planned or not supported here; those
// with `kept` need not run. cores: this machine's; free: bytes left where records go.
std::string PlanTable(const nlohmann::ordered_json& figures, int cores, uintmax_t free);

}  // namespace cosched
