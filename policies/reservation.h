#pragma once
// When somebody who waits for cores will have them, given when those who hold some are expected to
// give them back: the reservation of EASY backfilling (Lifka, JSSPP 1995), for the policies that
// keep one. Pure; any thread.

#include <limits>
#include <vector>

namespace cosched {

struct ExpectedEnd {
  double in_s = 0;  // Seconds from now.
  int cores = 0;    // Freed by it.
};

struct Reservation {
  double start_s = std::numeric_limits<double>::infinity();  // From now.
  int spare = 0;                                             // Cores that stay free then.
};

// The first time at which `asked` cores are free, with `free` of them now. Where the ends do not
// free so many (cores that others are leaving are not free yet) nothing is promised: a start that
// never comes, which nobody delays.
Reservation ReserveStart(std::vector<ExpectedEnd> ends, int free, int asked);

}  // namespace cosched
