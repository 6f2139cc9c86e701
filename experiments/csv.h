#pragma once
// The records' CSV files (RFC 4180: comma, quotes where needed, a header row). CsvWriter appends
// rows for the records; CsvReader streams them back for the metrics, with errors that name file,
// line and column. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/cpu_set.h"
#include "experiments/output_file.h"

namespace cosched {

class CsvWriter {
 public:
  CsvWriter(std::filesystem::path path, std::initializer_list<std::string_view> columns);

  // As many cells as there are columns. Written at once; throws OutputError.
  void Row(std::initializer_list<std::string_view> cells);
  void Sync() { file_.Sync(); }

 private:
  size_t columns_;
  std::string line_;
  OutputFile file_;
};

class CsvReader {
 public:
  // Reads the header. Throws InputError if the file can't be read or has none.
  explicit CsvReader(std::filesystem::path path);

  size_t Column(std::string_view name) const;  // Throws InputError if there is no such column.
  // The next row; false at the end. Throws InputError if it does not have as many cells as the
  // header.
  bool Next();

  // Cells of the current row. The typed ones throw InputError if the cell is not such a value.
  const std::string& Text(size_t column) const { return cells_[column]; }
  bool Empty(size_t column) const { return cells_[column].empty(); }
  double Number(size_t column) const;
  int64_t Integer(size_t column) const;
  CpuSet Cpus(size_t column) const;

 private:
  void Split(const std::string& line);
  [[noreturn]] void Fail(const std::string& key, const std::string& problem,
                         const std::string& allowed) const;

  std::filesystem::path path_;
  std::ifstream stream_;
  int line_ = 0;
  std::vector<std::string> header_;
  std::vector<std::string> cells_;
};

}  // namespace cosched
