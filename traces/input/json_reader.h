#pragma once
// The trace reader of a JSON format whose arrivals are objects: the file is read as a whole, its
// arrivals are sorted by time (ExternalSort: in memory up to a bound, beyond it in a temporary
// file) and then given one by one. Used by the formats in traces/readers/. Not thread-safe.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/arrivals/trace_reader.h"
#include "traces/input/external_sort.h"
#include "traces/input/json.h"
#include "traces/input/table_reader.h"

namespace cosched {

// Arrivals on their way through the sort: facts and cells as bytes.
class ArrivalSorter {
 public:
  static constexpr size_t kMaxColumns = 256;

  // The facts (the tenant's view is copied; attributes are not taken) and a cell for each key. A
  // key not seen before becomes a column; throws InputError for more than kMaxColumns of them.
  void Add(const Arrival& facts, const JsonRecord& record);
  void Finish() { sort_.Finish(); }
  // The views are valid until the next call.
  bool Next(Arrival* arrival, int* line);
  const std::vector<std::string>& Columns() const { return columns_; }

 private:
  size_t ColumnOf(const JsonRecord& record, const std::string& key);

  ExternalSort sort_;
  std::vector<std::string> columns_;
  std::string bytes_;
  std::vector<std::string_view> cells_;
};

// Reads the objects in `list` (a key of the file's own object, "jobs") or, with list "", the lines.
// `read` makes an arrival's facts of an object and throws BadRow.
std::unique_ptr<TraceReader> ReadJsonObjects(std::unique_ptr<TextInput> input,
                                             std::string_view list, OnBadRow on_bad_row,
                                             std::function<Arrival(const JsonRecord& record)> read);

}  // namespace cosched
