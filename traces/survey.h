#pragma once
// Which facts a trace holds, for what has to be known before its first arrival is written in
// another format: the columns that are worth one, a header's totals, and what that format can't
// hold. Gathered in a pass of its own. Constant memory; not thread-safe.

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/arrivals/trace_reader.h"

namespace cosched {

// What an arrival may or may not say.
enum Fact : size_t {
  kTime,  // All have one.
  kRequest,
  kTenant,
  kSize,
  kDuration,
  kCoresMin,
  kCoresPreferred,
  kCoresMax,
  kDeadline,
  kPriority,
  kFacts
};

struct TraceSurvey {
  std::string format;                // The source's.
  std::vector<std::string> columns;  // TraceReader::Columns.
  Duration first{0};
  Duration last{0};
  std::array<int64_t, kFacts> having = {};  // How many arrivals say it.
  // Arrivals whose time, whose duration, is no whole number of seconds.
  int64_t split_seconds = 0;
  int64_t split_durations = 0;
  int64_t line_breaks = 0;  // Cells with one.
  // The largest there are; 0 without any.
  int most_cores = 0;
  Duration longest{0};
  // By column: the facts that its cell repeats in every arrival.
  std::vector<std::bitset<kFacts>> repeats;

  int64_t arrivals() const { return having[kTime]; }
  std::optional<size_t> Column(std::string_view name) const;
  bool Repeats(std::string_view column, Fact fact) const;
};

// Reads the trace to its end.
TraceSurvey Survey(TraceReader* reader, std::string format);

}  // namespace cosched
