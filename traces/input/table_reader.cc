#include "traces/input/table_reader.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "traces/input/external_sort.h"

namespace cosched {
namespace {

// `*arrival = {}` sets all its bytes, which takes as long as reading a third of a row.
void Clear(Arrival* arrival) {
  arrival->kind = Arrival::Kind::kJob;
  arrival->tenant = {};
  arrival->size.reset();
  arrival->duration.reset();
  arrival->cores_min.reset();
  arrival->cores_preferred.reset();
  arrival->cores_max.reset();
  arrival->deadline.reset();
  arrival->priority.reset();
}

class TableReader : public TraceReader {
 public:
  TableReader(std::unique_ptr<TextInput> input, const TableFormat& format, OnBadRow on_bad_row)
      : table_(std::move(input), format.syntax),
        format_(format.make(table_.GetColumns())),
        log_(on_bad_row) {}

  std::span<const std::string> Columns() const override { return table_.GetColumns().Names(); }
  bool IsFact(size_t column) const override { return format_->IsFact(column); }
  Counts RowCounts() const override { return log_.Counts(); }
  int Line() const override { return line_; }

 protected:
  void Read(const Row& row, Arrival* arrival) {
    Clear(arrival);
    arrival->attributes = row.Cells();
    format_->Read(row, arrival);
    line_ = row.Line();
  }
  const std::string& TimeColumn() const {
    return table_.GetColumns().Names()[format_->TimeColumn()];
  }

  Table table_;
  std::unique_ptr<RowFormat> format_;
  BadRowLog log_;
  int line_ = 0;
};

class OrderedTableReader final : public TableReader {
 public:
  using TableReader::TableReader;

  bool Next(Arrival* arrival) override {
    std::string_view line;
    while (table_.NextLine(&line)) {
      const bool well_formed = log_.Try([&] {
        const Row& row = table_.Split(line, table_.LineNumber());
        Read(row, arrival);
        if (last_ && arrival->time < *last_) {
          row.Fail(TimeColumn(),
                   "is earlier than the row before: " + Quoted(row.Text(format_->TimeColumn())),
                   "rows in order of time");
        }
      });
      if (!well_formed) continue;
      last_ = arrival->time;
      return true;
    }
    log_.RefuseNothing(table_.File());
    return false;
  }

 private:
  std::optional<Duration> last_;
};

// Sorts the lines themselves, with their numbers, and reads each once more when its turn comes.
class SortedTableReader final : public TableReader {
 public:
  using TableReader::TableReader;

  bool Next(Arrival* arrival) override {
    if (!sorted_) Sort();
    int64_t time = 0;
    std::string_view record;
    if (!sort_.Next(&time, &record)) return false;
    int line_number = 0;
    std::memcpy(&line_number, record.data(), sizeof line_number);
    Read(table_.Split(record.substr(sizeof line_number), line_number), arrival);
    return true;
  }

 private:
  void Sort() {
    sorted_ = true;
    std::string_view line;
    std::string record;
    while (table_.NextLine(&line)) {
      const int line_number = table_.LineNumber();
      Arrival arrival;
      if (!log_.Try([&] { Read(table_.Split(line, line_number), &arrival); })) continue;
      record.assign(reinterpret_cast<const char*>(&line_number), sizeof line_number);
      record.append(line);
      sort_.Add(arrival.time.count(), record);
    }
    log_.RefuseNothing(table_.File());
    sort_.Finish();
  }

  ExternalSort sort_;
  bool sorted_ = false;
};

}  // namespace

std::unique_ptr<TraceReader> ReadTable(std::unique_ptr<TextInput> input, const TableFormat& format,
                                       OnBadRow on_bad_row) {
  if (format.order == TableFormat::Order::kPromised)
    return std::make_unique<OrderedTableReader>(std::move(input), format, on_bad_row);
  return std::make_unique<SortedTableReader>(std::move(input), format, on_bad_row);
}

void BadRowLog::RefuseNothing(const std::string& file) const {
  if (counts_.rows > counts_.skipped) return;
  throw InputError({.file = file,
                    .problem = counts_.rows == 0 ? "holds no arrival"
                                                 : "holds no well-formed row among " +
                                                       std::to_string(counts_.rows) +
                                                       "; the first: " + counts_.first_skipped});
}

void BadRowLog::Skip(const BadRow& error) {
  if (on_bad_row_ == OnBadRow::kError) throw BadRow(error);
  if (counts_.skipped++ == 0) counts_.first_skipped = error.what();
}

}  // namespace cosched
