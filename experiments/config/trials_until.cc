#include "experiments/config/trials_until.h"

#include <fmt/format.h>

#include <cmath>
#include <regex>

#include "engine/base/read_number.h"

namespace cosched {
namespace {

constexpr double kAlpha = 0.05;
constexpr double kGrowth = 1.5;    // From one look to the next.
constexpr double kLastGap = 1.25;  // The last look comes at least so much after the one before.

std::vector<int> LooksFrom(int first, int most) {
  std::vector<int> looks;
  for (double next = first; next * kLastGap <= most; next = std::ceil(kGrowth * next))
    looks.push_back(static_cast<int>(next));
  looks.push_back(most);
  return looks;
}

}  // namespace

std::optional<TrialsUntil> ParseTrialsUntil(const std::string& text) {
  static const std::regex form(R"(\s*until\s+(\w+)\s*(?:±|\+-|\+/-)\s*([0-9.]+)\s*%\s*)");
  std::smatch found;
  if (!std::regex_match(text, found, form)) return std::nullopt;
  const std::optional<double> percent = ReadNumber<double>(found[2].str(), 0, 100);
  if (!percent || *percent <= 0 || *percent >= 100) return std::nullopt;
  return TrialsUntil{.metric = found[1].str(), .within = *percent / 100};
}

std::string ToString(const TrialsUntil& until) {
  return fmt::format("until {} ± {:.6g} %", until.metric, until.within * 100);
}

std::vector<int> TrialLooks(int most) {
  for (int first = kFewestSequentialTrials;; ++first) {
    std::vector<int> looks = LooksFrom(first, most);
    // The range of n values, the widest that there is, misses their median with 2 / 2^n.
    const double missed = 2 * std::exp2(-looks.front());
    if (missed <= kAlpha / static_cast<double>(looks.size())) return looks;
  }
}

double LevelOfLook(size_t looks) { return 1 - kAlpha / static_cast<double>(looks); }

}  // namespace cosched
