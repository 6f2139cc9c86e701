#include "traces/input/spread.h"

#include <algorithm>

#include "engine/base/portable_math.h"

namespace cosched {

bool SpreadArrivals::Next(Duration* time) {
  if (left_ == 0) return false;
  if (rule_ == Spread::kStart || at_start_ > 0) {
    at_start_ = 0;
    --left_;
    *time = begin_;
    return true;
  }
  remaining_ *= PortableExp(-random_.Exponential(1) / static_cast<double>(left_));
  --left_;
  const double offset = (1 - remaining_) * static_cast<double>(width_.count());
  *time = begin_ + Duration(std::min(static_cast<int64_t>(offset), width_.count() - 1));
  return true;
}

}  // namespace cosched
