#pragma once
// Resize latencies: what a tenant tells of its histograms, and how a person reads it. Stateless.

#include <string>
#include <string_view>

#include "engine/pool/duration_histogram.h"
#include "experiments/wire/tenant_protocol.h"

namespace cosched {

StatusReply::Latencies LatenciesOf(const DurationHistogram& histogram);
// "grow    3 times, p50 21 us, p90 …"; "" if there were none.
std::string LatencyLine(std::string_view name, const StatusReply::Latencies& latencies);

}  // namespace cosched
