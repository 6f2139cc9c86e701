#include "experiments/csv.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

void AppendCell(std::string_view cell, std::string* line) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    line->append(cell);
    return;
  }
  // A row is one line whatever a reason says, so that a reader may go line by line.
  line->push_back('"');
  for (const char c : cell) {
    if (c == '"') line->push_back('"');
    line->push_back(c == '\n' || c == '\r' ? ' ' : c);
  }
  line->push_back('"');
}

template <typename Cells>
void AppendLine(const Cells& cells, std::string* line) {
  bool first = true;
  for (const std::string_view cell : cells) {
    if (!first) line->push_back(',');
    first = false;
    AppendCell(cell, line);
  }
  line->push_back('\n');
}

template <typename Value>
bool ParseWhole(const std::string& text, Value* value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

CsvWriter::CsvWriter(std::filesystem::path path, std::initializer_list<std::string_view> columns)
    : columns_(columns.size()), file_(std::move(path)) {
  Row(columns);
}

void CsvWriter::Row(std::initializer_list<std::string_view> cells) {
  CHECK(cells.size() == columns_) << file_.path().string() << ": " << cells.size() << " cells";
  line_.clear();
  AppendLine(cells, &line_);
  file_.Write(line_);
}

CsvReader::CsvReader(std::filesystem::path path) : path_(std::move(path)), stream_(path_) {
  if (!stream_) Fail("", "can't be read", "a file of a results folder");
  std::string line;
  if (!std::getline(stream_, line)) Fail("", "is empty", "a header and rows");
  line_ = 1;
  Split(line);
  header_ = std::move(cells_);
  cells_.assign(header_.size(), "");
}

size_t CsvReader::Column(std::string_view name) const {
  for (size_t i = 0; i < header_.size(); ++i) {
    if (header_[i] == name) return i;
  }
  Fail(std::string(name), "no such column", fmt::format("{}", fmt::join(header_, ", ")));
}

bool CsvReader::Next() {
  std::string line;
  if (!std::getline(stream_, line)) return false;
  ++line_;
  Split(line);
  if (cells_.size() != header_.size()) {
    Fail("", fmt::format("{} cells", cells_.size()), fmt::format("{} cells", header_.size()));
  }
  return true;
}

void CsvReader::Split(const std::string& line) {
  cells_.assign(1, "");
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      const bool doubled = c == '"' && i + 1 < line.size() && line[i + 1] == '"';
      if (c == '"' && !doubled) {
        quoted = false;
        continue;
      }
      if (doubled) ++i;
      cells_.back().push_back(c);
    } else if (c == '"' && cells_.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      cells_.emplace_back();
    } else if (c != '\r') {
      cells_.back().push_back(c);
    }
  }
  if (quoted) Fail("", "a quote is not closed", "\"…\" within one line");
}

double CsvReader::Number(size_t column) const {
  double value = 0;
  if (!ParseWhole(cells_[column], &value) || !std::isfinite(value)) {
    Fail(header_[column], fmt::format("'{}'", cells_[column]), "a number");
  }
  return value;
}

int64_t CsvReader::Integer(size_t column) const {
  int64_t value = 0;
  if (!ParseWhole(cells_[column], &value)) {
    Fail(header_[column], fmt::format("'{}'", cells_[column]), "a whole number");
  }
  return value;
}

CpuSet CsvReader::Cpus(size_t column) const {
  const std::optional<CpuSet> cpus = CpuSet::Parse(cells_[column]);
  if (!cpus) {
    Fail(header_[column], fmt::format("'{}'", cells_[column]), "an interval set such as 0-3,5");
  }
  return *cpus;
}

void CsvReader::Fail(const std::string& key, const std::string& problem,
                     const std::string& allowed) const {
  throw InputError({path_.string(), line_, key, problem, allowed});
}

}  // namespace cosched
