#include "experiments/hosts/simulation/bandwidth.h"

#include <algorithm>
#include <utility>

#include "experiments/hosts/simulation/executions.h"

namespace cosched {
namespace {

// A tenant that is done at the very instant at which its budget is used up does not stand still.
constexpr Duration kJustAfter{1};
constexpr double kRounding = 0.5e-9;  // Seconds.

}  // namespace

double Bandwidth::Quota() const { return amount_.Cores() * ToSeconds(period_); }

void Bandwidth::Fill(TimePoint period_end) {
  period_end_ = period_end;
  left_ = Quota();
}

void Bandwidth::GoOn(TimePoint now) {
  if (!std::exchange(stalled_, false)) return;
  time_stalled_ += now - stalled_since_;
}

void Bandwidth::SetAmount(CpuShare amount, TimePoint now) {
  Advance(now);
  amount_ = amount;
  left_ = Quota();
  GoOn(now);
}

void Bandwidth::SetUse(double cores, TimePoint now) {
  Advance(now);
  use_ = stalled_ ? 0 : cores;
  if (use_ == 0 || (period_end_ && now < *period_end_)) return;
  // It has not computed since its last period ended.
  const bool idle = !period_end_ || now >= *period_end_ + period_;
  Fill((idle ? now : *period_end_) + period_);
}

void Bandwidth::Advance(TimePoint now) {
  if (stalled_ && now >= *period_end_) {
    GoOn(*period_end_);
    Fill(*period_end_ + period_);
  }
  if (use_ > 0 && now >= *period_end_) {
    // Of whole periods that have passed since the budget was enough: else it stood still.
    since_ = *period_end_ + (now - *period_end_) / period_ * period_;
    Fill(since_ + period_);
  }
  left_ -= use_ * ToSeconds(now - since_);
  since_ = now;
  if (left_ >= -use_ * kRounding) return;
  stalled_ = true;
  stalled_since_ = now;
  left_ = use_ = 0;
}

std::optional<TimePoint> Bandwidth::NextChange() const {
  if (stalled_) return period_end_;
  if (use_ <= 0) return std::nullopt;
  const TimePoint empty = NotBefore(ToSeconds(since_) + left_ / use_) + kJustAfter;
  if (empty < *period_end_) return empty;
  if (use_ * ToSeconds(period_) <= Quota()) return std::nullopt;
  return std::min(NotBefore(ToSeconds(*period_end_) + Quota() / use_) + kJustAfter,
                  *period_end_ + period_);
}

Duration Bandwidth::TimeStalled(TimePoint now) const {
  return time_stalled_ + (stalled_ ? now - stalled_since_ : Duration(0));
}

}  // namespace cosched
