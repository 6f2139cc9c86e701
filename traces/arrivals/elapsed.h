#pragma once
// The time from one arrival to another. Times of arrivals are any that 64 bits of nanoseconds can
// tell, so what lies between two of them need not fit. Pure.

#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace cosched {

// Throws InputError for more than 292 years.
inline Duration Elapsed(Duration from, Duration to) {
  Duration::rep elapsed = 0;
  if (__builtin_sub_overflow(to.count(), from.count(), &elapsed)) {
    throw InputError({.key = "time",
                      .problem = "the trace spans more than 292 years",
                      .allowed = "what 64 bits of nanoseconds can tell"});
  }
  return Duration(elapsed);
}

}  // namespace cosched
