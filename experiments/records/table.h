#pragma once
// Writes and reads the tables of a cell's folder, a struct a row (experiments/records/rows.h);
// which columns there are is listed with the struct (experiments/records/column.h). Used by
// CellRecords, and by everything that derives figures from records. Not thread-safe.

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <vector>

#include "engine/base/check.h"
#include "experiments/records/column.h"
#include "experiments/records/csv.h"

namespace cosched {

template <typename Row>
std::vector<std::string_view> ColumnNames() {
  std::vector<std::string_view> names;
  ForEachColumn<Row>([&names](size_t, const auto& column) { names.push_back(column.name); });
  return names;
}

template <typename Row>
void AppendRow(const Row& row, CsvLine* line) {
  ForEachColumn<Row>([&row, line](size_t, const auto& column) {
    WriteCell(std::invoke(column.get, row), column.format, line);
  });
}

// Row::kFile in a cell's folder.
template <typename Row>
class RowWriter {
 public:
  // gzip: compressed, with .gz behind its name. buffer: as OutputFile's.
  RowWriter(const std::filesystem::path& cell, bool gzip, size_t buffer = 0)
      : file_(cell / (std::string(Row::kFile) + (gzip ? ".gz" : "")), ColumnNames<Row>(), buffer) {}

  // Allocates nothing but what the text of large core sets needs. Throws OutputError.
  void Write(const Row& row) {
    AppendRow(row, &file_.Line());
    file_.End();
  }
  void Sync() { file_.Sync(); }

 private:
  CsvWriter file_;
};

// A whole table, a line of which may be of several rows side by side.
template <typename... Rows>
class TableText {
 public:
  TableText() {
    (PutNames(ColumnNames<Rows>()), ...);
    EndLine();
  }

  void Add(const Rows&... rows) {
    (AppendRow(rows, &line_), ...);
    EndLine();
    empty_ = false;
  }
  bool Empty() const { return empty_; }
  const std::string& Text() const { return text_; }

 private:
  void PutNames(const std::vector<std::string_view>& names) {
    for (const std::string_view name : names) line_.Text(name);
  }
  void EndLine() {
    text_ += line_.End();
    line_.Clear();
  }

  CsvLine line_;
  std::string text_;
  bool empty_ = true;
};

template <typename Row>
bool HasTable(const std::filesystem::path& cell) {
  std::error_code ignored;
  return std::filesystem::exists(PlainOrCompressed(cell / Row::kFile), ignored);
}

// Whether rows may still be written.
enum class Growth { kOver, kGoesOn };

// Reads of a row only what it is asked for, so that records of other versions, which lack other
// columns, can be read too; every other member of the row is left as it was made.
template <typename Row>
class RowReader {
 public:
  // wanted: members of Row. Throws InputError if the cell has no such file, or that has no column
  // of one of them.
  template <typename... Members>
  explicit RowReader(const std::filesystem::path& cell, Members... wanted)
      : RowReader(Growth::kOver, cell, wanted...) {}
  // Growth::kGoesOn: the cell runs; Next may be called again after the end (CsvReader's growing).
  template <typename... Members>
  RowReader(Growth growth, const std::filesystem::path& cell, Members... wanted)
      : csv_(cell / Row::kFile, growth == Growth::kGoesOn) {
    places_.fill(kUnwanted);
    (Want(wanted), ...);
  }

  // The next row; null at the end. It, and the texts in it, are valid until the one after. Throws
  // InputError, naming file, line and column, if a cell is no value of its column.
  const Row* Next() {
    if (!csv_.Next()) return nullptr;
    ForEachColumn<Row>([this](size_t index, const auto& column) {
      if (places_[index] != kUnwanted) ReadCell(csv_, places_[index], &(row_.*column.get));
    });
    return &row_;
  }

  // A value that the current row must have. Throws InputError as Next does if its cell is empty.
  // REQUIRES: it was asked for.
  template <typename Value>
  Value Needed(std::optional<Value> Row::*member) const {
    const size_t place = places_[IndexOf(member)];
    CHECK(place != kUnwanted) << Row::kFile << ": a member that was not asked for";
    Value value;
    ReadCell(csv_, place, &value);
    return value;
  }

 private:
  static constexpr size_t kColumns =
      std::tuple_size_v<std::remove_cvref_t<decltype(kColumnsOf<Row>)>>;
  static constexpr size_t kUnwanted = ~size_t{0};

  template <typename Member>
  static size_t IndexOf(Member member) {
    size_t found = kColumns;
    ForEachColumn<Row>([&found, member](size_t index, const auto& column) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(column.get)>, Member>) {
        if (column.get == member) found = index;
      }
    });
    CHECK(found < kColumns) << Row::kFile << ": a member without a column";
    return found;
  }

  template <typename Member>
  void Want(Member member) {
    const size_t wanted = IndexOf(member);
    ForEachColumn<Row>([this, wanted](size_t index, const auto& column) {
      if (index == wanted) places_[index] = csv_.Column(column.name);
    });
  }

  CsvReader csv_;
  std::array<size_t, kColumns> places_;  // In the file.
  Row row_;
};

}  // namespace cosched
