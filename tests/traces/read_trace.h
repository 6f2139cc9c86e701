#pragma once
// What tests of trace readers share: reading a text as a trace of some format into plain copies.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "traces/input/formats.h"

namespace cosched {

struct ReadArrival {
  Arrival facts;  // The facts' views are not to be used.
  std::string tenant;
  std::map<std::string, std::string> cells;
  int line = 0;
};

struct ReadResult {
  std::string format;
  std::vector<std::string> columns;
  std::vector<ReadArrival> arrivals;
  TraceReader::Counts counts;
};

inline ReadResult Drain(const OpenedTrace& trace) {
  ReadResult result{.format = std::string(trace.format->name),
                    .columns = {trace.reader->Columns().begin(), trace.reader->Columns().end()},
                    .arrivals = {},
                    .counts = {}};
  Arrival arrival;
  while (trace.reader->Next(&arrival)) {
    if (!result.arrivals.empty()) {
      EXPECT_GE(arrival.time, result.arrivals.back().facts.time);
    }
    ReadArrival copy{.facts = arrival,
                     .tenant = std::string(arrival.tenant),
                     .cells = {},
                     .line = trace.reader->Line()};
    EXPECT_EQ(arrival.attributes.size(), result.columns.size());
    for (size_t i = 0; i < arrival.attributes.size(); ++i)
      copy.cells[result.columns[i]] = arrival.attributes[i];
    result.arrivals.push_back(std::move(copy));
  }
  result.counts = trace.reader->RowCounts();
  return result;
}

// `format` "" = recognised by the content.
inline ReadResult ReadText(const std::string& text, std::string_view format = "",
                           const TraceOptions& options = {}) {
  return Drain(
      OpenTrace(std::make_unique<TextInput>(OpenBytes(text, "memory"), "memory"), format, options));
}

// What a text is refused for; empty with a test failure if it is not.
inline InputErrorDetails RefusedText(const std::string& text, std::string_view format = "",
                                     const TraceOptions& options = {}) {
  try {
    ReadText(text, format, options);
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().file, "memory");
    return error.details();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

}  // namespace cosched
