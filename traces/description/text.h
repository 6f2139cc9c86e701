#pragma once
// How `cosched trace describe` tells what it found: as text for people, as JSON for programs and
// the plot script (plots/trace_description.py). Pure.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "traces/description/description.h"

namespace cosched {

// What a description does not know by itself.
struct DescribedTrace {
  std::string file;
  std::string format;
  TraceReader::Counts counts;
};

struct DescriptionTextOptions {
  // The columns of a chart of the rate over time, in block characters; 0: none.
  int chart_columns = 0;
};

std::string DescriptionText(const DescribedTrace& trace, const TraceDescription& description,
                            const DescriptionTextOptions& options);

nlohmann::json DescriptionJson(const DescribedTrace& trace, const TraceDescription& description);

}  // namespace cosched
