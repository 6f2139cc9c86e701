#include "experiments/hosts/simulation/contention.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr double kParts = 1024;                  // How finely rates are told apart.
constexpr Executions::ClockId kUndisturbed = 0;  // The clock of tenants that nothing slows.

int64_t Parts(double rate) { return std::llround(rate * kParts); }

}  // namespace

Contention::Contention(Executions* executions, bool enabled)
    : executions_(executions), enabled_(enabled) {
  CHECK(executions_->AddClock(1) == kUndisturbed) << "the executions have clocks already";
}

Contention::Groups::iterator Contention::Place(const Key& key) {
  return std::lower_bound(
      groups_.begin(), groups_.end(), key,
      [](const auto& group, const Key& wanted) { return group.first < wanted; });
}

Executions::ClockId Contention::Join(int program, double pressure, double sensitivity,
                                     double rate) {
  if (!enabled_ || (pressure == 0 && sensitivity == 0)) return kUndisturbed;
  changed_ = true;
  const Key key = {program, Parts(rate)};
  auto place = Place(key);
  if (place == groups_.end() || place->first != key) place = groups_.insert(place, {key, {}});
  Group& group = place->second;
  if (group.tenants++ > 0) return group.clock;
  group.pressure = pressure * rate;
  group.sensitivity = sensitivity;
  if (sensitivity > 0) {
    if (unused_.empty()) {
      group.clock = executions_->AddClock(1);
    } else {
      group.clock = unused_.back();
      unused_.pop_back();
    }
  }
  return group.clock;
}

void Contention::Leave(int program, double rate) {
  const Key key = {program, Parts(rate)};
  const auto group = Place(key);
  if (group == groups_.end() || group->first != key) return;  // No account is taken of it.
  changed_ = true;
  if (--group->second.tenants > 0) return;
  if (group->second.clock != kUndisturbed) unused_.push_back(group->second.clock);
  groups_.erase(group);
}

const std::vector<Executions::ClockId>& Contention::Update(double now) {
  slowed_.clear();
  if (!changed_) return slowed_;
  changed_ = false;
  double total = 0;  // Anew each time, so that no rounding is carried on.
  for (const auto& [key, group] : groups_)
    total += static_cast<double>(group.tenants) * group.pressure;
  for (const auto& [key, group] : groups_) {
    if (group.clock == kUndisturbed) continue;
    const double others = std::max(0.0, total - group.pressure);
    const double speed = 1 / (1 + group.sensitivity * others);
    if (speed == executions_->Speed(group.clock)) continue;
    executions_->SetSpeed(group.clock, speed, now);
    slowed_.push_back(group.clock);
  }
  return slowed_;
}

}  // namespace cosched
