#pragma once
// CSV files (RFC 4180: comma, quotes where needed, a header row). CsvWriter appends rows; CsvReader
// streams them back, with errors that name file, line and column. The records' own tables are
// written and read row by row as structs, on top of these (experiments/records/table.h). Not
// thread-safe.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/byte_source.h"
#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "experiments/records/output_file.h"

namespace cosched {

// The file, or the one with .gz behind its name where only that is there.
std::filesystem::path PlainOrCompressed(const std::filesystem::path& file);

// A line that is made cell by cell, without a string of its own for each.
class CsvLine {
 public:
  CsvLine& Text(std::string_view cell);  // Quoted where it must be.
  CsvLine& Integer(int64_t cell);
  CsvLine& Number(double cell, int decimals);
  CsvLine& Significant(double cell, int digits);  // As printf's %g.
  CsvLine& Seconds(Duration cell);                // To the microsecond: 1.250000.
  CsvLine& Empty() { return Text(""); }

  size_t Cells() const { return cells_; }
  const std::string& End();  // The whole line, to its line feed.
  void Clear();

 private:
  void Comma();

  size_t cells_ = 0;
  std::string text_;
};

class CsvWriter {
 public:
  // buffer: as OutputFile's.
  CsvWriter(std::filesystem::path path, const std::vector<std::string_view>& columns,
            size_t buffer = 0);

  // As many cells as there are columns. Written at once; throws OutputError.
  void Row(const std::vector<std::string_view>& cells);
  // The same cell by cell: End() writes what Line() has been given.
  CsvLine& Line() { return line_; }
  void End();

  void Sync() { file_.Sync(); }

 private:
  size_t columns_;
  CsvLine line_;
  OutputFile file_;
};

class CsvReader {
 public:
  // Reads the header. Where there is no such file, but one with .gz behind its name, that one is
  // read. Throws InputError if the file can't be read or has no header.
  // growing: somebody still writes it. Then a last line without its line feed is left until it is
  // whole, and after the end Next may be called again for what has come since.
  explicit CsvReader(const std::filesystem::path& path, bool growing = false);

  const std::vector<std::string>& Columns() const { return header_; }
  size_t Column(std::string_view name) const;  // Throws InputError if there is no such column.
  // The next row; false at the end. Throws InputError if it does not have as many cells as the
  // header.
  bool Next();

  // Cells of the current row; valid until the next. The typed ones throw InputError if the cell is
  // not such a value.
  std::string_view Text(size_t column) const { return cells_[column]; }
  bool Empty(size_t column) const { return cells_[column].empty(); }
  double Number(size_t column) const;
  int64_t Integer(size_t column) const;
  CpuSet Cpus(size_t column) const;

 private:
  bool ReadLine();  // Into text_; false at the end.
  void Split();
  std::string_view TakeQuoted(size_t* at);
  [[noreturn]] void Fail(const std::string& key, const std::string& problem,
                         const std::string& allowed) const;

  std::filesystem::path path_;
  std::unique_ptr<ByteSource> bytes_;
  const bool growing_;
  std::string block_;  // Bytes that were read,
  size_t begin_ = 0;   // and those of them that have been taken.
  int line_ = 0;
  std::vector<std::string> header_;
  std::string text_;                     // The current row's line,
  bool whole_ = true;                    // or the beginning of the next one.
  std::string unquoted_;                 // What its quoted cells say.
  std::vector<std::string_view> cells_;  // Parts of text_ or unquoted_.
};

}  // namespace cosched
