#include "experiments/cli/finding.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace cosched {

std::string FindingsText(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    const char* mark = finding.severity == Severity::kGood     ? "ok"
                       : finding.severity == Severity::kLesser ? "note"
                                                               : "MISSING";
    text += fmt::format("{:<8} {:<14} {}\n", mark, finding.what, finding.found);
    if (!finding.consequence.empty())
      text += fmt::format("{:<9}{:<14} -> {}\n", "", "", finding.consequence);
    if (!finding.remedy.empty())
      text += fmt::format("{:<9}{:<14} -> remedy: {}\n", "", "", finding.remedy);
  }
  return text;
}

nlohmann::ordered_json FindingsJson(const std::vector<Finding>& findings) {
  using Json = nlohmann::ordered_json;
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  Json json = Json::array();
  for (const Finding& finding : findings) {
    const char* severity = finding.severity == Severity::kGood     ? "ok"
                           : finding.severity == Severity::kLesser ? "note"
                                                                   : "missing";
    json.push_back({{"severity", severity},
                    {"what", finding.what},
                    {"found", finding.found},
                    {"consequence", text_or_null(finding.consequence)},
                    {"remedy", text_or_null(finding.remedy)}});
  }
  return json;
}

}  // namespace cosched
