#pragma once
// The CPU time of one simulated tenant that has a share of its cores, counted out as the kernel
// does (CFS bandwidth control: Turner, Rao, Rao, Linux Symposium 2010): a budget of `amount` x
// period that is filled up at each period's end, nothing carried over. Whoever has used it up
// stands still until then, so a share delays long bursts and leaves short ones at full speed; it is
// no slower speed. The tenant's threads together spend the budget, n threads n times as fast.
//
// The periods begin when the tenant first computes and go on until a whole one has passed in which
// it did not; the next one begins with its next use. A new amount takes effect at once with a full
// budget, and lets a tenant that stood still go on; the periods stay.
//
// Not modelled: budgets go to cores in slices (5 ms by default), of which what is left over on
// cores that fell idle is lost for a while; a real tenant on several cores may stand still a few
// milliseconds earlier. Used by SimulatedHost. Costs nothing while nobody computes. One thread.

#include <optional>

#include "engine/base/clock.h"
#include "engine/base/cpu_share.h"

namespace cosched {

class Bandwidth {
 public:
  explicit Bandwidth(Duration period) : period_(period) {}

  // REQUIRES, of all: `now` does not go back, and Advance is called at NextChange().
  void SetAmount(CpuShare amount, TimePoint now);
  // So many cores' time is used from now on. One that stands still uses nothing, and when it goes
  // on nothing yet.
  void SetUse(double cores, TimePoint now);
  // Brings it up to date: whether it stands still may change.
  void Advance(TimePoint now);

  bool Stalled() const { return stalled_; }
  // When that changes if all else stays as it is: just after the budget has been used up, or when
  // it is filled up again. None = never.
  std::optional<TimePoint> NextChange() const;
  Duration TimeStalled(TimePoint now) const;

 private:
  double Quota() const;  // Seconds of CPU time in a period.
  void Fill(TimePoint period_end);
  void GoOn(TimePoint now);

  Duration period_;
  CpuShare amount_;
  double left_ = 0;  // Seconds of CPU time, at `since_`.
  double use_ = 0;
  TimePoint since_;
  std::optional<TimePoint> period_end_;  // Of the period in which it computed last.
  bool stalled_ = false;
  TimePoint stalled_since_;
  Duration time_stalled_{0};
};

}  // namespace cosched
