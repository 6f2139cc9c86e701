#pragma once
// How many claims of figures have which verdict: of publications, and of our own, apart. Pure.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cosched {

// not_judged: of figures that have not run, or failed.
struct ClaimCounts {
  int all = 0, hold = 0, direction_only = 0, fail = 0, not_here = 0, not_judged = 0;
};

enum class ClaimsOf { kAll, kPublications, kOwnTargets };

// Of "published", as experiments/schemas/reproduce.schema.json has it.
bool IsOwnTarget(const nlohmann::ordered_json& claim);

// figures: as that schema has them.
ClaimCounts CountClaims(const nlohmann::ordered_json& figures, ClaimsOf of);

// A line for those of publications and one for our own targets, each where there are some.
std::string ClaimCountsText(const nlohmann::ordered_json& figures);

}  // namespace cosched
