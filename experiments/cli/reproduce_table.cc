#include "experiments/cli/reproduce_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "experiments/analysis/table_text.h"
#include "experiments/report/reproduction_words.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

struct PlanTotals {
  int64_t cells = 0;
  double seconds = 0, bytes = 0;
  int not_known = 0, at_least = 0;  // Figures, by time.
  std::set<std::string> elsewhere;  // Where times come from that are not of here.
};

// "0.4", "0.4*" of another machine, "> 0.4", "?".
std::string MinutesOf(const Json& plan, PlanTotals* totals) {
  if (plan["seconds"].is_null()) {
    ++totals->not_known;
    return "?";
  }
  const double seconds = plan["seconds"].get<double>();
  const std::string from = plan["seconds_from"];
  totals->seconds += seconds;
  const std::string text = fmt::format("{:.1f}", seconds / 60);
  if (from == kTimeFromHere) return text;
  if (from == kTimeFromArrivals) {
    ++totals->at_least;
    return "> " + text;
  }
  totals->elsewhere.insert(from);
  return text + "*";
}

std::string RowOf(const Json& figure, PlanTotals* totals) {
  const std::string name = figure["name"];
  const Json& plan = figure["plan"];
  if (figure["status"] == kNotSupported)
    return Wrapped(fmt::format("{:<24} not supported here:", name), figure["why"]);
  if (figure["status"] == kFigureFailed)
    return Wrapped(fmt::format("{:<24} can't run:", name), figure["why"]);
  const std::string cells =
      plan["cells"].is_null() ? "-" : std::to_string(plan["cells"].get<int64_t>());
  const std::string disk = plan["bytes"].is_null() ? "?" : BytesText(plan["bytes"].get<double>());
  if (figure["kept"].get<bool>())
    return fmt::format("{:<24} {:>6} {:>8} {:>8} {:>6}  is whole, and is kept\n", name, cells, "-",
                       "-", plan["cores"].get<int>());
  if (!plan["cells"].is_null()) totals->cells += plan["cells"].get<int64_t>();
  if (!plan["bytes"].is_null()) totals->bytes += plan["bytes"].get<double>();
  return fmt::format("{:<24} {:>6} {:>8} {:>8} {:>6}\n", name, cells, MinutesOf(plan, totals), disk,
                     plan["cores"].get<int>());
}

std::string TotalsText(const PlanTotals& totals, int cores, uintmax_t free) {
  const bool is_more = totals.not_known + totals.at_least > 0;
  const std::string minutes =
      totals.seconds > 0 || !is_more
          ? fmt::format("{}{:.1f}", is_more ? "> " : "", totals.seconds / 60)
          : "?";
  std::string text =
      fmt::format("{:<24} {:>6} {:>8} {:>8} {:>6}  {} here\n", "together", totals.cells, minutes,
                  BytesText(totals.bytes), "", Counted(cores, "core"));
  for (const std::string& from : totals.elsewhere) text += Wrapped("  *", from);
  if (totals.at_least > 0) text += "  > at least, as its arrivals tell\n";
  if (totals.not_known > 0)
    text += Wrapped("  ?", fmt::format("not known: {} never ran to the end with these results",
                                       Counted(totals.not_known, "figure")));
  if (totals.bytes > static_cast<double>(free))
    text += fmt::format("  WARNING: only {} are free where they go\n",
                        BytesText(static_cast<double>(free)));
  return text;
}

}  // namespace

std::string PlanTable(const Json& figures, int cores, uintmax_t free) {
  PlanTotals totals;
  std::string text = fmt::format("{:<24} {:>6} {:>8} {:>8} {:>6}\n", "figure", "cells", "minutes",
                                 "disk", "cores");
  std::string lacks;
  std::map<std::string, std::vector<std::string>> of_reason;  // A peer is missing for several.
  for (const Json& figure : figures) {
    text += RowOf(figure, &totals);
    for (const Json& lack : figure["lacks"]) of_reason[lack].push_back(figure["name"]);
  }
  for (const auto& [reason, names] : of_reason)
    lacks += Wrapped("  -", fmt::format("{}: {}", fmt::join(names, ", "), reason));
  text += TotalsText(totals, cores, free);
  return lacks.empty() ? text : text + "What they lack here:\n" + lacks;
}

}  // namespace cosched
