#include "policies/reservation.h"

#include <algorithm>

namespace cosched {

Reservation ReserveStart(std::vector<ExpectedEnd> ends, int free, int asked) {
  std::ranges::stable_sort(ends, {}, &ExpectedEnd::in_s);
  for (const ExpectedEnd& end : ends) {
    free += end.cores;
    if (free >= asked) return {end.in_s, free - asked};
  }
  return {};
}

}  // namespace cosched
