#include "experiments/hosts/hold_overshoot.h"

#include <fmt/format.h>

#include <algorithm>

namespace cosched {
namespace {

constexpr Duration kMostOvershoot = std::chrono::milliseconds(1);
constexpr double kMostOvershootShare = 0.05;

// By nearest rank; of none, nothing.
template <typename Value>
Value NinetyNinthPercentile(std::vector<Value> values) {
  if (values.empty()) return Value{};
  const size_t rank = (values.size() * 99 + 99) / 100;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

void HoldOvershoot::Add(const HoldSample& hold) {
  const Duration overshoot = hold.end - hold.planned_end, planned = hold.planned_end - hold.begin;
  overshoots_.push_back(overshoot);
  if (planned > Duration::zero()) shares_.push_back(ToSeconds(overshoot) / ToSeconds(planned));
}

std::optional<std::string> HoldOvershoot::Mark(const std::string& device) const {
  const Duration overshoot = NinetyNinthPercentile(overshoots_);
  const double share = NinetyNinthPercentile(shares_);
  if (overshoot <= kMostOvershoot && share <= kMostOvershootShare) return std::nullopt;
  return fmt::format(
      "the modelled device {} answered later than its profile says: of {} holds, one in a hundred "
      "by more than {:.2f} ms, or {:.1f} % of its time",
      device, overshoots_.size(), ToSeconds(overshoot) * 1e3, share * 1e2);
}

}  // namespace cosched
