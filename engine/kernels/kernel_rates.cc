#include "engine/kernels/kernel_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <vector>

namespace cosched {
namespace {

constexpr double kGiga = 1e9;

// A value's name in the text, whether it is in nanoseconds there or in 1e9 a second, and what is
// possible in that.
struct Field {
  std::string_view name;
  double KernelRates::*value;
  bool is_time;
  double least, most;
};
constexpr Field kFields[] = {
    {"window", &KernelRates::window_flops, false, 0.1, 1e5},
    {"gradient", &KernelRates::gradient_flops, false, 0.1, 1e5},
    {"product", &KernelRates::product_flops, false, 0.1, 1e5},
    {"memory", &KernelRates::memory_bytes, false, 0.01, 1e4},
    {"filter", &KernelRates::filter_bytes, false, 0.01, 1e4},
    {"new", &KernelRates::new_filter_bytes, false, 0.01, 1e4},
    {"turned", &KernelRates::turned_filter_bytes, false, 0.01, 1e4},
    {"summed", &KernelRates::summed_filter_bytes, false, 0.01, 1e4},
    {"transform2", &KernelRates::transform_2_seconds, true, 0.01, 1e5},
    {"transform4", &KernelRates::transform_4_seconds, true, 0.01, 1e5},
};
constexpr std::string_view kLanesName = "lanes";
constexpr int kMostLanes = 1024;

template <typename Number>
bool ReadNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

bool ReadField(std::string_view name, std::string_view text, KernelRates* rates) {
  if (name == kLanesName)
    return ReadNumber(text, &rates->lanes) && rates->lanes >= 1 && rates->lanes <= kMostLanes;
  for (const Field& field : kFields) {
    double value = 0;
    if (name != field.name) continue;
    if (!ReadNumber(text, &value) || !(value >= field.least && value <= field.most)) return false;
    rates->*field.value = field.is_time ? value / kGiga : value * kGiga;
    return true;
  }
  return false;
}

}  // namespace

std::string ToString(const KernelRates& rates) {
  std::string text;
  for (const Field& field : kFields) {
    const double value = rates.*field.value;
    text += fmt::format("{}={:.3g},", field.name, field.is_time ? value * kGiga : value / kGiga);
  }
  return text + fmt::format("{}={}", kLanesName, rates.lanes);
}

std::optional<KernelRates> ParseKernelRates(std::string_view text) {
  KernelRates rates;
  std::vector<std::string_view> seen;
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    if (equals == part.size() || std::count(seen.begin(), seen.end(), name) > 0 ||
        !ReadField(name, part.substr(equals + 1), &rates)) {
      return std::nullopt;
    }
    seen.push_back(name);
    if (part.size() == text.size()) break;
    text.remove_prefix(part.size() + 1);
  }
  if (seen.size() != std::size(kFields) + 1) return std::nullopt;
  return rates;
}

KernelRates Rounded(const KernelRates& rates) { return *ParseKernelRates(ToString(rates)); }

}  // namespace cosched
