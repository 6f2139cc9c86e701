#pragma once
// A part of a trace, faster than it was: `cosched trace convert --window --sample --speedup` and
// start_s, length_s, sample and speedup of an experiment's [trace]. Not thread-safe.
//
// What applies in which order, whatever the order of the options:
//   1. sample: each arrival of the file, from its first on, is kept with this probability, by a
//      draw of its own. A window of a sample is therefore the sample of that window, and equal
//      seeds keep equal arrivals, on every platform.
//   2. window: kept if start <= time - first < start + length, in the file's own seconds (before
//      speedup), where `first` is the time of the file's first arrival, sampled or not.
//   3. speedup: what is kept moves towards the window's start, time' = begin + (time - begin) /
//      speedup, begin = first + start, to the nearest nanosecond. Durations, deadlines and
//      attributes stay as they are: arrivals come faster, work does not shrink.
// Reading ends with the window: rows behind it are not looked at, malformed or not. A speedup below
// 1 that moves an arrival more than a century away is an InputError.

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/base/random.h"
#include "traces/arrivals/trace_reader.h"

namespace cosched {

struct TraceSelection {
  Duration start{0};                    // >= 0
  std::optional<Duration> length = {};  // > 0; nullopt: to the end of the file
  double sample = 1;                    // (0, 1]
  double speedup = 1;                   // > 0
  uint64_t seed = 1;                    // The sample's seed.
};

class SelectedTrace final : public TraceReader {
 public:
  SelectedTrace(std::unique_ptr<TraceReader> reader, const TraceSelection& selection);

  std::span<const std::string> Columns() const override { return reader_->Columns(); }
  bool IsFact(size_t column) const override { return reader_->IsFact(column); }
  bool Next(Arrival* arrival) override;
  // The file's: the rows read, not the rows kept.
  int Line() const override { return reader_->Line(); }
  Counts RowCounts() const override { return reader_->RowCounts(); }

  // The begin of the window, once the first arrival has been read: the zero of who wants times from
  // the start of what was selected.
  std::optional<Duration> Begin() const { return begin_; }

 private:
  Duration Begin(Duration first) const;
  Duration Faster(Duration since) const;

  const std::unique_ptr<TraceReader> reader_;
  const TraceSelection selection_;
  Random draws_;
  std::optional<Duration> begin_;
  bool ended_ = false;
};

}  // namespace cosched
