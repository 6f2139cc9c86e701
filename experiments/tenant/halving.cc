#include "experiments/tenant/halving.h"

#include <algorithm>

namespace cosched {

std::optional<Split> Halving::Step(Split now, Split wanted, Clock::time_point time) {
  if (time < due_) return std::nullopt;
  const Split next{std::max(wanted.inter, (now.inter + 1) / 2),
                   std::max(wanted.intra, (now.intra + 1) / 2)};
  if (next == now) return std::nullopt;
  due_ = time + kPeriod;
  return next;
}

}  // namespace cosched
