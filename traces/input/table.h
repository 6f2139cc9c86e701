#pragma once
// A trace file as a table: a header or known columns, then a row a line. Splits lines into cells
// without allocating. Used by the readers of column formats, mostly through table_reader.h. Not
// thread-safe.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/input/row.h"
#include "traces/input/text_input.h"

namespace cosched {

struct TableSyntax {
  // Between cells. With ',' blanks around a cell are left out, and a cell may be in quotes
  // (RFC 4180, within one line). ' ' stands for any number of blanks and tabs.
  char separator = ',';
  char comment = '\0';  // Lines that begin with it are left out.
  // The columns of a format without a header, told from the file's beginning. Null: the first line
  // is the header.
  std::vector<std::string> (*names)(std::string_view head) = nullptr;
};

// Splits lines; the cells are valid until the next and as long as the line.
class CellSplitter {
 public:
  explicit CellSplitter(const TableSyntax& syntax) : syntax_(syntax) {}
  // False if a quote is not closed or has something behind it.
  bool Split(std::string_view line);
  std::span<const std::string_view> Cells() const { return {cells_.data(), count_}; }

 private:
  bool SplitAtCommas(std::string_view line);
  bool SplitQuoted(std::string_view line);
  // The quoted cell at the front of `line`, which is left behind it.
  bool TakeQuoted(std::string_view* line);
  void SplitAtTabs(std::string_view line);
  void SplitAtBlanks(std::string_view line);

  void Add(std::string_view cell) {
    if (count_ == cells_.size()) cells_.resize(2 * count_ + 16);
    cells_[count_++] = cell;
  }

  TableSyntax syntax_;
  std::vector<std::string_view> cells_;  // The first count_ of them; it does not shrink.
  size_t count_ = 0;
  std::string unquoted_;  // What cells with doubled quotes say.
};

class Table {
 public:
  // Reads the header. InputError if there is none.
  Table(std::unique_ptr<TextInput> input, const TableSyntax& syntax);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const std::string& File() const { return input_->File(); }
  const Columns& GetColumns() const { return *columns_; }

  // The next line that is no blank one and no comment, or false at the end. The view is valid until
  // the next call.
  bool NextLine(std::string_view* line);
  int LineNumber() const { return line_number_; }
  // The line as a row, valid as long as the line and until the next call. Throws BadRow if it does
  // not have a cell for each column.
  const Row& Split(std::string_view line, int line_number);

 private:
  void ReadHeader();

  std::unique_ptr<TextInput> input_;
  TableSyntax syntax_;
  CellSplitter splitter_;
  std::unique_ptr<Columns> columns_;
  std::unique_ptr<Row> row_;
  int line_number_ = 0;
};

}  // namespace cosched
