#pragma once
// The file formats of traces. A reader is one .cc in traces/readers/ without a header: a function
// named in the table of formats.cc, which drives `cosched list formats` and the reading of [trace]
// file. Stateless; thread-safe.

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "traces/job_arrival.h"

namespace cosched {

// What a reader can't know by itself is asked of its caller: whether an arrival makes sense to this
// experiment.
struct ArrivalProblem {
  std::string column;  // "cores_min"
  std::string problem;
  std::string allowed;
};
using ArrivalCheck = std::function<std::optional<ArrivalProblem>(const JobArrival& arrival)>;

struct TraceFormat {
  std::string_view name;       // "csv"
  std::string_view extension;  // ".csv"; decides which reader a file gets
  std::string_view summary;    // One line.
  JobTrace (*read)(const std::filesystem::path& file, const ArrivalCheck& check) = nullptr;
};

std::span<const TraceFormat> TraceFormats();

// Reads a whole trace. Throws InputError with file, line and column for the first thing that is
// wrong: a file that can't be read, a malformed row, arrivals out of order, an arrival that `check`
// refuses, no arrival at all.
JobTrace ReadTrace(const std::filesystem::path& file, const ArrivalCheck& check);

}  // namespace cosched
