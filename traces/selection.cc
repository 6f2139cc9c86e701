#include "traces/selection.h"

#include <cmath>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "traces/arrivals/elapsed.h"

namespace cosched {
namespace {

constexpr Duration kCentury = std::chrono::hours(24 * 36525);

}  // namespace

SelectedTrace::SelectedTrace(std::unique_ptr<TraceReader> reader, const TraceSelection& selection)
    : reader_(std::move(reader)),
      selection_(selection),
      draws_(Random(selection.seed).Derive("trace.sample")) {
  CHECK(selection_.start >= Duration{0} && selection_.start <= kCentury) << "start";
  CHECK(!selection_.length || *selection_.length > Duration{0}) << "length";
  CHECK(selection_.sample > 0 && selection_.sample <= 1) << "sample";
  CHECK(selection_.speedup > 0) << "speedup";
}

bool SelectedTrace::Next(Arrival* arrival) {
  while (!ended_ && reader_->Next(arrival)) {
    if (!begin_) begin_ = Begin(arrival->time);
    const Duration since = Elapsed(*begin_, arrival->time);
    if (selection_.length && since >= *selection_.length) break;
    const bool drawn = selection_.sample == 1 || draws_.Uniform() < selection_.sample;
    if (!drawn || since < Duration{0}) continue;
    if (selection_.speedup != 1) arrival->time = *begin_ + Faster(since);
    return true;
  }
  ended_ = true;
  return false;
}

Duration SelectedTrace::Begin(Duration first) const {
  // A window that begins beyond all times is empty, as one at their end is.
  return first > Duration::max() - selection_.start ? Duration::max() : first + selection_.start;
}

Duration SelectedTrace::Faster(Duration since) const {
  const double moved = std::round(static_cast<double>(since.count()) / selection_.speedup);
  if (moved > static_cast<double>(kCentury.count())) {
    throw InputError({.key = "speedup",
                      .problem = "moves an arrival more than a century away",
                      .allowed = "a factor that keeps arrivals within a century"});
  }
  return Duration(static_cast<Duration::rep>(moved));
}

}  // namespace cosched
