#include "experiments/records/csv.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

bool NeedsQuotes(std::string_view cell) {
  for (const char c : cell) {
    if (c == ',' || c == '"' || c == '\r' || c == '\n') return true;
  }
  return false;
}

void AppendCell(std::string_view cell, std::string* line) {
  if (!NeedsQuotes(cell)) {
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

template <typename Value>
bool ParseWhole(std::string_view text, Value* value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

void CsvLine::Comma() {
  if (cells_++ > 0) text_.push_back(',');
}

CsvLine& CsvLine::Text(std::string_view cell) {
  Comma();
  AppendCell(cell, &text_);
  return *this;
}

CsvLine& CsvLine::Integer(int64_t cell) {
  Comma();
  const fmt::format_int digits(cell);
  text_.append(digits.data(), digits.size());
  return *this;
}

CsvLine& CsvLine::Number(double cell, int decimals) {
  constexpr int kMostDecimals = 16;
  constexpr size_t kLongest = std::numeric_limits<double>::max_exponent10 + kMostDecimals + 3;
  CHECK(decimals <= kMostDecimals) << decimals << " decimals";
  Comma();
  std::array<char, kLongest> text;
  const std::to_chars_result written =
      std::to_chars(text.data(), text.data() + kLongest, cell, std::chars_format::fixed, decimals);
  text_.append(text.data(), static_cast<size_t>(written.ptr - text.data()));
  return *this;
}

CsvLine& CsvLine::Significant(double cell, int digits) {
  Comma();
  fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{:.{}g}"), cell, digits);
  return *this;
}

CsvLine& CsvLine::Seconds(Duration cell) {
  constexpr int64_t kMicros = 1'000'000;
  Comma();
  const int64_t micros = (std::abs(cell.count()) + 500) / 1000;
  fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{}{}.{:06}"),
                 cell < Duration::zero() ? "-" : "", micros / kMicros, micros % kMicros);
  return *this;
}

const std::string& CsvLine::End() {
  text_.push_back('\n');
  return text_;
}

void CsvLine::Clear() {
  text_.clear();
  cells_ = 0;
}

CsvWriter::CsvWriter(std::filesystem::path path, const std::vector<std::string_view>& columns,
                     size_t buffer)
    : columns_(columns.size()), file_(std::move(path), buffer) {
  Row(columns);
}

void CsvWriter::Row(const std::vector<std::string_view>& cells) {
  for (const std::string_view cell : cells) line_.Text(cell);
  End();
}

void CsvWriter::End() {
  CHECK(line_.Cells() == columns_) << file_.path().string() << ": " << line_.Cells() << " cells";
  file_.Write(line_.End());
  line_.Clear();
}

std::filesystem::path PlainOrCompressed(const std::filesystem::path& file) {
  std::filesystem::path compressed = file;
  compressed += ".gz";
  std::error_code error;
  return !std::filesystem::exists(file, error) && std::filesystem::exists(compressed, error)
             ? compressed
             : file;
}

CsvReader::CsvReader(const std::filesystem::path& path, bool growing)
    : path_(PlainOrCompressed(path)), bytes_(OpenFile(path_)), growing_(growing) {
  if (!ReadLine()) Fail("", "is empty", "a header and rows");
  line_ = 1;
  Split();
  header_.assign(cells_.begin(), cells_.end());
  cells_.assign(header_.size(), "");
}

size_t CsvReader::Column(std::string_view name) const {
  for (size_t i = 0; i < header_.size(); ++i) {
    if (header_[i] == name) return i;
  }
  Fail(std::string(name), "no such column", fmt::format("{}", fmt::join(header_, ", ")));
}

bool CsvReader::Next() {
  if (!ReadLine()) return false;
  ++line_;
  Split();
  if (cells_.size() != header_.size()) {
    Fail("", fmt::format("{} cells", cells_.size()), fmt::format("{} cells", header_.size()));
  }
  return true;
}

bool CsvReader::ReadLine() {
  constexpr size_t kBlock = 64 << 10;
  if (whole_) text_.clear();
  whole_ = false;
  while (true) {
    const size_t end = block_.find('\n', begin_);
    text_.append(block_, begin_, end - begin_);  // To the block's end if there is none.
    if (end != std::string::npos) {
      begin_ = end + 1;
      return whole_ = true;
    }
    block_.resize(kBlock);
    block_.resize(bytes_->Read(block_.data(), kBlock));
    begin_ = 0;
    if (!block_.empty()) continue;
    whole_ = !growing_;
    return whole_ && !text_.empty();
  }
}

void CsvReader::Split() {
  if (!text_.empty() && text_.back() == '\r') text_.pop_back();
  cells_.clear();
  unquoted_.clear();
  unquoted_.reserve(text_.size());  // The text must not move: cells point into it.
  const char* const text = text_.data();
  const size_t size = text_.size();
  size_t at = 0;
  while (true) {
    if (at < size && text[at] == '"') {
      size_t end = at;  // `at` stays in a register: its address is given to nobody.
      cells_.push_back(TakeQuoted(&end));
      at = end;
    } else {
      const size_t begin = at;
      while (at < size && text[at] != ',') ++at;
      cells_.emplace_back(text + begin, at - begin);
    }
    if (at >= size) return;
    ++at;  // The comma.
  }
}

std::string_view CsvReader::TakeQuoted(size_t* at) {
  const size_t begin = unquoted_.size();
  for (size_t i = *at + 1; i < text_.size(); ++i) {
    if (text_[i] == '"') {
      const bool doubled = i + 1 < text_.size() && text_[i + 1] == '"';
      if (!doubled) {
        *at = i + 1;
        if (*at < text_.size() && text_[*at] != ',')
          Fail("", "something is behind a closing quote", "a comma, or the end of the line");
        return std::string_view(unquoted_).substr(begin);
      }
      ++i;
    }
    unquoted_.push_back(text_[i]);
  }
  Fail("", "a quote is not closed", "\"…\" within one line");
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
