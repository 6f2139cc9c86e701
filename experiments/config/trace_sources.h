#pragma once
// The files of [trace]: opened, a part of them selected, mapped to jobs and requests, merged.
// Called by ReadTraceConfig. Everything that was chosen and counted on the way is kept for the
// manifest.
//
//   [trace]
//   file = "conv.csv.gz"          # relative to the experiment file
//   format = "azure-llm"          # default: recognised by the content
//   start_s = 600                 # of the file's own time, from its first arrival on
//   length_s = 300
//   sample = 0.1                  # of the arrivals, each drawn by the experiment's seed
//   speedup = 60.0                # what is kept comes so many times as fast
//   spread = "uniform"            # within a bucket of counts: uniform | start | exponential
//   durations = "durations.csv"   # the companion of an azure-functions-2019 file
//   on_bad_row = "error"          # or "skip"
//   map = { … }                   # trace_map_config.h; not needed in the cosched format
//   [[trace.merge]]               # another file, with keys like those; where it has no map of its
//   file = "more.csv"             # own, [trace.map] (or none, in the cosched format)
//   offset_s = 30                 # its window begins so long after that of the first file
//
// The experiment's clock is 0 at the first arrival that is left.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"
#include "traces/arrivals/job_arrival.h"
#include "traces/arrivals/request_arrival.h"
#include "traces/input/formats.h"
#include "traces/selection.h"

namespace cosched {

struct ExperimentConfig;

struct TraceSource {
  std::filesystem::path file;  // As opened.
  std::string hash;            // Hash of its bytes: FNV-1a, 64 bits, hexadecimal.
  std::string format;
  TraceSelection selection;
  bool skip_bad_rows = false;
  std::optional<Spread> spread;     // Instead of the format's own rule.
  std::filesystem::path durations;  // "" = the one that belongs to the file's name, if any.
  Duration offset{0};
  std::string map;  // As TOML; "" = the cosched format, taken as it is.
  // Rows read; left out as malformed, by the reader or by the map, and the first of these.
  int64_t rows = 0;
  int64_t skipped = 0;
  std::string first_skipped;
  // Counts of the arrivals that were selected.
  int64_t jobs = 0;
  int64_t requests = 0;
  int64_t rejected = 0;  // By the map.
  int64_t limited = 0;   // Jobs that ask for more cores than there are: they ask for all.
};

struct TraceContent {
  std::vector<TraceSource> sources;
  std::vector<JobArrival> jobs;
  RequestTrace requests;
};

// table: [trace], with `file`. Throws InputError; a trace of which nothing is left is one too.
TraceContent ReadTraceSources(const TomlTable& table, const ExperimentConfig& config);

// Keys of a trace file, in [trace] itself (but for offset_s) or in [[trace.merge]].
const Section<TraceSource>& TraceSourceSection();

// What a reader of results must know of them: how much was left out, and why.
std::vector<std::string> TraceSourceNotes(const std::vector<TraceSource>& sources);

}  // namespace cosched
