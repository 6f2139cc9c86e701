#include "experiments/cli/finding.h"

#include <fmt/format.h>

namespace cosched {

void PrintFindings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    const char* mark = finding.severity == Severity::kGood     ? "ok"
                       : finding.severity == Severity::kLesser ? "note"
                                                               : "MISSING";
    fmt::print("{:<8} {:<14} {}\n", mark, finding.what, finding.found);
    if (!finding.consequence.empty())
      fmt::print("{:<9}{:<14} -> {}\n", "", "", finding.consequence);
    if (!finding.remedy.empty()) fmt::print("{:<9}{:<14} -> remedy: {}\n", "", "", finding.remedy);
  }
}

}  // namespace cosched
