#pragma once
// A trace file, read once from its front to its end in constant memory. One implementation per
// format (traces/readers/); OpenTrace (formats.h) finds the right one. Not thread-safe; two readers
// share nothing.

#include <cstdint>
#include <span>
#include <string>

#include "traces/arrivals/arrival.h"

namespace cosched {

enum class OnBadRow {
  kError,  // The first malformed row ends the reading with an InputError.
  kSkip,   // Malformed rows are left out and counted.
};

class TraceReader {
 public:
  virtual ~TraceReader() = default;

  // The names of an arrival's attributes, in order; the same for the whole file.
  virtual std::span<const std::string> Columns() const = 0;

  // Whether this column's cells only say what a fact of the same name says: nothing is missed by
  // who reads facts and leaves such columns out.
  virtual bool IsFact(size_t /*column*/) const { return false; }

  // The next arrival, or false at the end of the file. The views in it are valid until the next
  // call. Arrivals come in the order of their times whatever the order of the file. Throws
  // InputError with file, line, column and content for what is malformed.
  virtual bool Next(Arrival* arrival) = 0;

  // The line of the file that the last arrival came from, for errors about it; 0 where a format has
  // no lines.
  virtual int Line() const = 0;

  // Rows read so far, of all kinds but blank lines, comments and headers; those that were left out
  // as malformed; the first of these, told as an error would be.
  struct Counts {
    int64_t rows = 0;
    int64_t skipped = 0;
    std::string first_skipped;
  };
  virtual Counts RowCounts() const = 0;
};

}  // namespace cosched
