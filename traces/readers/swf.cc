// swf: the Standard Workload Format, version 2.2, of the Parallel Workloads Archive
// (www.cs.huji.ac.il/labs/parallel/workload/swf.html): an optional header of lines that begin with
// ';', then 18 blank-separated fields a job, with leading blanks. Times are seconds since the log's
// own start; -1 = not known. Job numbers may have holes. Who: the user (field 12). How many cores:
// those requested (8), else those allocated (5). How long: the run time (4); the requested time
// stays an attribute. Logs are nearly in order of their submit times, so rows are sorted.

#include <algorithm>

#include "traces/input/formats.h"
#include "traces/input/numbers.h"
#include "traces/input/swf_fields.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat SwfFormat();  // Named in formats.cc.

namespace {

std::vector<std::string> Names(std::string_view /*head*/) {
  return {kSwfNames.begin(), kSwfNames.end()};
}

class SwfRow final : public RowFormat {
 public:
  explicit SwfRow(const Columns& /*columns*/) {}

  size_t TimeColumn() const override { return kSwfSubmit; }

  void Read(const Row& row, Arrival* arrival) const override {
    for (size_t field = 0; field < kSwfFields; ++field) {
      int64_t ignored = 0;
      // Some logs have fractions of seconds.
      if (!ParseScaled(row.Text(field), 0, &ignored)) row.Refuse(field, "a number, -1 = not known");
    }
    arrival->time = row.Seconds(kSwfSubmit);
    if (!Unknown(row, kSwfUser)) arrival->tenant = row.Text(kSwfUser);
    if (!Unknown(row, kSwfRunTime)) arrival->duration = row.Seconds(kSwfRunTime);
    arrival->cores_preferred = row.Cores(kSwfRequested);
    if (!arrival->cores_preferred) arrival->cores_preferred = row.Cores(kSwfAllocated);
  }

 private:
  static bool Unknown(const Row& row, size_t field) { return row.Text(field).starts_with('-'); }
};

constexpr TableFormat kFormat = {.syntax = {.separator = ' ', .comment = ';', .names = Names},
                                 .order = TableFormat::Order::kAny,
                                 .make = MakeRowFormat<SwfRow>};

// The first line that is no comment has 18 numbers, or there are so many comments that it was not
// seen.
bool Detect(const TraceHead& head) {
  const std::string_view line = head.FirstLine(kFormat.syntax.comment);
  if (line.empty()) return head.text.starts_with(kFormat.syntax.comment) && !head.is_all;
  CellSplitter splitter(kFormat.syntax);
  splitter.Split(line);
  const std::span<const std::string_view> cells = splitter.Cells();
  return cells.size() == kSwfFields &&
         std::all_of(cells.begin(), cells.end(), [](std::string_view cell) {
           int64_t ignored = 0;
           return ParseScaled(cell, 0, &ignored);
         });
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadTable(std::move(input), kFormat, options.on_bad_row);
}

}  // namespace

TraceFormat SwfFormat() {
  return {.name = "swf",
          .summary = "18 blank-separated fields, header after ';'; Standard Workload Format 2.2",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
