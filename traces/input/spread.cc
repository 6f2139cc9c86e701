#include "traces/input/spread.h"

#include <algorithm>

namespace cosched {

SpreadArrivals::SpreadArrivals(Spread rule, int64_t count, Duration begin, Duration width,
                               const Random& random)
    : rule_(rule), left_(count), begin_(begin), width_(width), random_(random) {
  if (rule_ == Spread::kStart) return;
  Random rehearsal = random;
  const int64_t gaps = rule_ == Spread::kUniform ? count + 1 : count;
  for (int64_t i = 0; i < gaps; ++i) total_ += rehearsal.Exponential(1);
}

bool SpreadArrivals::Next(Duration* time) {
  if (left_ == 0) return false;
  --left_;
  if (rule_ == Spread::kStart) {
    *time = begin_;
    return true;
  }
  if (started_ || rule_ == Spread::kUniform) passed_ += random_.Exponential(1);
  started_ = true;
  // A sum of 0 takes gaps that are all 0: possible in principle, never seen.
  const double fraction = total_ > 0 ? passed_ / total_ : 0;
  const auto offset = static_cast<int64_t>(fraction * static_cast<double>(width_.count()));
  *time = begin_ + Duration(std::min(offset, width_.count() - 1));
  return true;
}

}  // namespace cosched
