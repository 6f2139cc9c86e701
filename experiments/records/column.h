#pragma once
// The columns of a table: what each is called, which member of the row it shows, and how that is
// written. A row is a struct whose static Columns() lists them, once; the file's header, its rows
// and what is read back all follow from that list (experiments/records/table.h), and so does what
// tests hold tests/check_results.py and plots/load.py to. Pure; thread-safe.

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "experiments/records/csv.h"

namespace cosched {

// A time in a row, since the start of the cell, or a duration; in the file seconds with 6 decimals.
// Whoever writes it knows it exactly, and whoever reads it has the file's own figure.
class RecordedTime {
 public:
  RecordedTime() = default;
  RecordedTime(Duration time) : value_(time) {}
  RecordedTime(TimePoint time) : value_(time.time_since_epoch()) {}
  RecordedTime(double seconds) : value_(seconds) {}

  operator double() const {
    const double* seconds = std::get_if<double>(&value_);
    return seconds != nullptr ? *seconds : ToSeconds(*std::get_if<Duration>(&value_));
  }
  Duration Exact() const {
    const Duration* time = std::get_if<Duration>(&value_);
    return time != nullptr ? *time : FromSeconds(*std::get_if<double>(&value_));
  }

 private:
  std::variant<Duration, double> value_;
};

// How a cell is written: as its type is, or a number to so many digits.
struct AsItIs {};
struct Decimals {
  int count;
};
struct SignificantDigits {
  int count;
};

// get: a member of the row; or, of a column that nobody reads back, what makes its cell of the row.
template <typename Get, typename Format = AsItIs>
struct TableColumn {
  constexpr TableColumn(std::string_view its_name, Get its_get, Format its_format = {})
      : name(its_name), get(its_get), format(its_format) {}

  std::string_view name;
  Get get;
  Format format;
};

template <typename Row>
inline constexpr auto kColumnsOf = Row::Columns();

// visit(index, column) of every column, in the file's order.
template <typename Row, typename Visit>
constexpr void ForEachColumn(Visit visit) {
  std::apply(
      [&visit](const auto&... column) {
        size_t index = 0;
        (visit(index++, column), ...);
      },
      kColumnsOf<Row>);
}

// What a column has, for whoever knows the file only.
enum class CellKind { kInteger, kNumber, kText, kCores };

template <typename Value>
struct KnownValue {
  using Type = Value;
};
template <typename Value>
struct KnownValue<std::optional<Value>> {
  using Type = Value;
};

template <typename Row, typename Get, typename Format>
constexpr CellKind KindOf(const TableColumn<Get, Format>& /*column*/) {
  using Cell = std::remove_cvref_t<std::invoke_result_t<Get, const Row&>>;
  using Value = typename KnownValue<Cell>::Type;
  if constexpr (std::integral<Value>) {
    return CellKind::kInteger;
  } else if constexpr (std::same_as<Value, double> || std::same_as<Value, RecordedTime>) {
    return CellKind::kNumber;
  } else if constexpr (std::same_as<Value, CpuSet>) {
    return CellKind::kCores;
  } else {
    static_assert(std::convertible_to<Value, std::string_view>);
    return CellKind::kText;
  }
}

inline void WriteCell(std::string_view cell, AsItIs /*format*/, CsvLine* line) { line->Text(cell); }
template <std::integral Integer>
void WriteCell(Integer cell, AsItIs /*format*/, CsvLine* line) {
  line->Integer(cell);
}
inline void WriteCell(const RecordedTime& cell, AsItIs /*format*/, CsvLine* line) {
  line->Seconds(cell.Exact());
}
inline void WriteCell(double cell, AsItIs format, CsvLine* line) = delete;  // To how many digits?
inline void WriteCell(double cell, Decimals decimals, CsvLine* line) {
  line->Number(cell, decimals.count);
}
inline void WriteCell(double cell, SignificantDigits digits, CsvLine* line) {
  line->Significant(cell, digits.count);
}
inline void WriteCell(const CpuSet& cell, AsItIs /*format*/, CsvLine* line) {
  line->Text(cell.ToString());
}
template <typename Value, typename Format>
void WriteCell(const std::optional<Value>& cell, Format format, CsvLine* line) {
  if (cell) {
    WriteCell(*cell, format, line);
  } else {
    line->Empty();
  }
}

// Throw InputError if the cell is no such value; only an optional one may be empty.
inline void ReadCell(const CsvReader& reader, size_t column, std::string_view* cell) {
  *cell = reader.Text(column);
}
template <std::integral Integer>
void ReadCell(const CsvReader& reader, size_t column, Integer* cell) {
  *cell = static_cast<Integer>(reader.Integer(column));
}
inline void ReadCell(const CsvReader& reader, size_t column, double* cell) {
  *cell = reader.Number(column);
}
inline void ReadCell(const CsvReader& reader, size_t column, RecordedTime* cell) {
  *cell = reader.Number(column);
}
inline void ReadCell(const CsvReader& reader, size_t column, CpuSet* cell) {
  *cell = reader.Cpus(column);
}
template <typename Value>
void ReadCell(const CsvReader& reader, size_t column, std::optional<Value>* cell) {
  cell->reset();
  if (!reader.Empty(column)) ReadCell(reader, column, &cell->emplace());
}

}  // namespace cosched
