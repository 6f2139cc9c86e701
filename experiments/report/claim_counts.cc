#include "experiments/report/claim_counts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/report/reproduction_words.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

std::string LineOf(const ClaimCounts& counts, const std::string& what) {
  if (counts.all == 0) return "";
  const std::string direction_only =
      counts.direction_only > 0
          ? fmt::format(" ({} of them checked for direction only)", counts.direction_only)
          : "";
  const std::string not_judged =
      counts.not_judged > 0 ? fmt::format(", {} were not judged", counts.not_judged) : "";
  return fmt::format("{}: {} of {} hold{}, {} do not hold, {} are not supported here{}\n", what,
                     counts.hold, counts.all, direction_only, counts.fail, counts.not_here,
                     not_judged);
}

}  // namespace

bool IsOwnTarget(const Json& claim) { return claim["published"] == kNotPublished; }

ClaimCounts CountClaims(const Json& figures, ClaimsOf of) {
  ClaimCounts counts;
  for (const Json& figure : figures) {
    for (const Json& claim : figure["claims"]) {
      if (of != ClaimsOf::kAll && IsOwnTarget(claim) != (of == ClaimsOf::kOwnTargets)) continue;
      const bool holds = claim["verdict"] == kHolds;
      ++counts.all;
      counts.hold += holds;
      counts.direction_only += holds && !claim["checks"].get<std::string>().empty();
      counts.fail += claim["verdict"] == kDoesNotHold;
      counts.not_here += claim["verdict"] == kNotSupported;
      counts.not_judged += claim["verdict"].is_null();
    }
  }
  return counts;
}

std::string ClaimCountsText(const Json& figures) {
  return LineOf(CountClaims(figures, ClaimsOf::kPublications), "claims of publications") +
         LineOf(CountClaims(figures, ClaimsOf::kOwnTargets),
                "our own targets, of which nothing is published");
}

}  // namespace cosched
