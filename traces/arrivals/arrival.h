#pragma once
// One arrival of a trace file, whatever its format: the facts that formats share, and the row's own
// columns. Plain data; made by trace readers (trace_reader.h) and generators, read by describe,
// convert and the mapping that turns arrivals into an experiment's jobs and requests.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/base/clock.h"

namespace cosched {

struct Arrival {
  enum class Kind : uint8_t { kJob, kRequest };

  // Exact, from the origin that the file's format has: its own zero where times are offsets, the
  // start of 1970 where they are dates without a zone. Who wants 0 at the first arrival subtracts.
  Duration time{0};
  Kind kind = Kind::kJob;
  std::string_view tenant;  // Who: function, application, user, client. "" where nobody is named.
  // How much, in the format's unit (tokens, steps, GPU-seconds; the format's table says which).
  std::optional<int64_t> size;
  std::optional<Duration> duration;  // How long it took or is said to take, once it runs.
  std::optional<int> cores_min;
  std::optional<int> cores_preferred;
  std::optional<int> cores_max;
  std::optional<Duration> deadline;  // From its arrival: a deadline or an SLO.
  std::optional<int> priority;       // Higher is more important.
  // The row as it stands, a text per column of TraceReader::Columns; "" where the row has none.
  std::span<const std::string_view> attributes;
};

}  // namespace cosched
