#pragma once
// The trace reader of a column format: what a format adds to a table is which columns make which
// facts of an arrival. Counts and skips malformed rows, keeps or makes the order of time. Used by
// the formats in traces/readers/.

#include <memory>

#include "traces/arrivals/trace_reader.h"
#include "traces/input/row.h"
#include "traces/input/table.h"

namespace cosched {

class RowFormat {
 public:
  virtual ~RowFormat() = default;
  // Fills in what the row says; the attributes are there already. Throws BadRow. A pure function:
  // rows that have to be sorted are read twice.
  virtual void Read(const Row& row, Arrival* arrival) const = 0;
  virtual size_t TimeColumn() const = 0;
  virtual bool IsFact(size_t /*column*/) const { return false; }  // As TraceReader's.
};

struct TableFormat {
  TableSyntax syntax;
  enum class Order {
    kPromised,  // A row that is earlier than the one before is malformed.
    kAny,       // All rows are read and sorted (stably) before the first arrival is given.
  };
  Order order = Order::kPromised;
  // Throws InputError if the header lacks a column.
  std::unique_ptr<RowFormat> (*make)(const Columns& columns) = nullptr;
};

template <typename Format>
std::unique_ptr<RowFormat> MakeRowFormat(const Columns& columns) {
  return std::make_unique<Format>(columns);
}

// Throws InputError if the header is not that of the format. A trace without any well-formed row is
// an InputError when it is read.
std::unique_ptr<TraceReader> ReadTable(std::unique_ptr<TextInput> input, const TableFormat& format,
                                       OnBadRow on_bad_row);

// Counts rows, and leaves out malformed ones if it shall.
class BadRowLog {
 public:
  explicit BadRowLog(OnBadRow on_bad_row) : on_bad_row_(on_bad_row) {}

  // Runs `read`, which reads one row; false if it was malformed and is left out.
  template <typename Read>
  bool Try(Read read) {
    ++counts_.rows;
    try {
      read();
      return true;
    } catch (const BadRow& error) {
      Skip(error);
      return false;
    }
  }
  // At the end: a trace of which nothing is left is an InputError.
  void RefuseNothing(const std::string& file) const;
  const TraceReader::Counts& Counts() const { return counts_; }

 private:
  void Skip(const BadRow& error);

  OnBadRow on_bad_row_;
  TraceReader::Counts counts_;
};

}  // namespace cosched
