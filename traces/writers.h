#pragma once
// The formats that `cosched trace convert` writes. A writer is one .cc in traces/writers/ without a
// header: a function named in the table of writers.cc. What it writes, the reader of the same name
// reads. Writers are not thread-safe; the table is.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/arrivals/arrival.h"
#include "traces/survey.h"

namespace cosched {

class TraceWriter {
 public:
  virtual ~TraceWriter() = default;
  // Text is appended to *out.
  virtual void Begin(std::string* out) = 0;
  virtual void Write(const Arrival& arrival, std::string* out) = 0;
};

struct TraceTarget {
  std::string_view name;  // "swf"; that of the format.
  std::string_view summary;
  // For the trace that the survey is of. Throws InputError if the format can't hold such a trace at
  // all.
  std::unique_ptr<TraceWriter> (*make)(const TraceSurvey& survey) = nullptr;
  // What the format can't hold of it, a line each; none: converting back gives equal arrivals.
  std::vector<std::string> (*losses)(const TraceSurvey& survey) = nullptr;
};

std::span<const TraceTarget> TraceTargets();
const TraceTarget& FindTraceTarget(std::string_view name);  // Throws InputError, key "--to".

// For writers. Seconds in decimal notation, exact: "-1.25".
void AppendSeconds(Duration time, std::string* out);
// What formats without an origin count from: the trace's own zero if that is near, else (dates) its
// first arrival.
Duration Origin(const TraceSurvey& survey);

// Losses, a line each, and none where nothing is lost.
class LossList {
 public:
  explicit LossList(const TraceSurvey& survey) : survey_(survey) {}

  // The origin of time, if it is not `origin`.
  LossList& AddOrigin(Duration origin);
  // What `count` arrivals lose, and what becomes of it.
  LossList& Add(int64_t count, std::string_view what, std::string_view becomes = "");
  LossList& Add(Fact fact, std::string_view what, std::string_view becomes = "");
  // Columns that are neither among these nor repeat a fact.
  LossList& AddColumns(std::span<const size_t> held);
  const std::vector<std::string>& Lines() const { return lines_; }

 private:
  const TraceSurvey& survey_;
  std::vector<std::string> lines_;
};

}  // namespace cosched
