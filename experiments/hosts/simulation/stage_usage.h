#pragma once
// How long the calls of a simulated stage have been busy, and have lasted. Plain data.

#include "engine/base/clock.h"

namespace cosched {

struct StageUsage {
  int running = 0, under_way = 0;  // Calls: those that are neither parked nor stopped, and all.
  TimePoint since;
  Duration busy{0}, lasted{0};  // Of all of them together, until then.

  // Before the numbers change. REQUIRES: `now` does not go back.
  void Pass(TimePoint now) {
    busy += running * (now - since);
    lasted += under_way * (now - since);
    since = now;
  }
};

}  // namespace cosched
