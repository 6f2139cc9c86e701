#pragma once
// A row of a trace file as its reader sees it: cells by column, typed, with errors that name file,
// line, column and content. The views point into the file's buffer. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "traces/input/numbers.h"

namespace cosched {

// A malformed row: what on_bad_row = "skip" leaves out. Any other InputError ends the reading.
class BadRow : public InputError {
 public:
  using InputError::InputError;
};

// Content for an error: shortened, with what a terminal should not get replaced.
std::string Quoted(std::string_view content);

// The columns of a table: their names, from the file's header or, where a format has none, from its
// specification.
class Columns {
 public:
  Columns(std::string file, int line, std::vector<std::string> names);

  const std::vector<std::string>& Names() const { return names_; }
  size_t Count() const { return names_.size(); }
  // The column of this name; the first of `names` that is there. Required: InputError if none is.
  size_t Required(std::string_view name) const;
  std::optional<size_t> Find(std::initializer_list<std::string_view> names) const;
  std::optional<size_t> Find(std::string_view name) const { return Find({name}); }
  [[noreturn]] void Fail(const std::string& column, const std::string& problem,
                         const std::string& allowed) const;

 private:
  std::string file_;
  int line_;
  std::vector<std::string> names_;
};

class Row {
 public:
  Row(const std::string& file, const Columns& columns) : file_(file), columns_(columns) {}

  std::span<const std::string_view> Cells() const { return cells_; }
  std::string_view Text(size_t column) const { return cells_[column]; }
  bool Empty(size_t column) const { return cells_[column].empty(); }
  std::string_view Text(std::optional<size_t> column) const {
    return column ? cells_[*column] : std::string_view();
  }

  // Whether there is such a column and its cell says something.
  bool Has(std::optional<size_t> column) const { return column && !cells_[*column].empty(); }

  // The typed cells throw BadRow if the cell is not such a value.
  int64_t Integer(size_t column, int64_t min, int64_t max = INT64_MAX) const {
    int64_t value = 0;
    if (!ParseInteger(cells_[column], &value) || value < min || value > max)
      RefuseInteger(column, min, max);
    return value;
  }
  // May be written as "57523.0".
  int64_t WholeNumber(size_t column, int64_t min, int64_t max = INT64_MAX) const;
  Duration Seconds(size_t column, Duration min = Duration::zero()) const;
  Duration DateTime(size_t column) const;
  // A decimal number >= 0, rounded (half up) to a whole one: for amounts such as GPU-seconds.
  int64_t Rounded(size_t column) const;
  // A count of cores or GPUs; nothing where it is 0 or negative.
  std::optional<int> Cores(size_t column) const;

  // Throws BadRow for the cell: its content and what is allowed.
  [[noreturn]] void Refuse(size_t column, const std::string& allowed) const;
  // Throws BadRow for something else; `column` may be "".
  [[noreturn]] void Fail(const std::string& column, const std::string& problem,
                         const std::string& allowed) const;

  // For whoever fills it.
  void Set(int line, std::span<const std::string_view> cells) {
    line_ = line;
    cells_ = cells;
  }
  int Line() const { return line_; }

 private:
  [[noreturn]] void RefuseInteger(size_t column, int64_t min, int64_t max) const;

  const std::string& file_;
  const Columns& columns_;
  int line_ = 0;
  std::span<const std::string_view> cells_;
};

}  // namespace cosched
