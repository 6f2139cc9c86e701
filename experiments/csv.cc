#include "experiments/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
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

constexpr int kMostDigits = 15;  // Of a decimal number that a double holds.
constexpr auto kPowersOfTen = [] {
  std::array<int64_t, kMostDigits + 1> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
  return powers;
}();

// |value| x 10^decimals as a whole number, to nearest, of two as near the even one: what a library
// that rounds correctly writes, several times as fast. nullopt: a number so large or so small is
// left to the library.
std::optional<uint64_t> Scaled(double value, int decimals) {
  constexpr int kMantissa = 52, kBias = 1023, kMostDecimals = 6;
  constexpr int kLeastShift = 13, kMostShift = 115;  // 2^40 x 10^6 has fewer than 64 bits.
  if (value == 0) return 0;
  const auto bits = std::bit_cast<uint64_t>(std::abs(value));
  const int shift = kBias + kMantissa - static_cast<int>(bits >> kMantissa);
  if (decimals > kMostDecimals || shift < kLeastShift || shift > kMostShift) return std::nullopt;
  const uint64_t one = uint64_t{1} << kMantissa;
  const auto power = static_cast<uint64_t>(kPowersOfTen[static_cast<size_t>(decimals)]);
  __extension__ typedef unsigned __int128 Wide;
  const Wide product = static_cast<Wide>((bits & (one - 1)) | one) * power;
  const auto whole = static_cast<uint64_t>(product >> shift);
  const Wide rest = product & ((static_cast<Wide>(1) << shift) - 1);
  const Wide half = static_cast<Wide>(1) << (shift - 1);
  return whole + (rest > half || (rest == half && whole % 2 == 1) ? 1 : 0);
}

// Of so many units of 10^-decimals.
void AppendDecimal(uint64_t units, int decimals, std::string* line) {
  constexpr size_t kLongest = 24;  // 20 digits and a point.
  std::array<char, kLongest> text;
  size_t begin = kLongest;
  const auto put = [&](char c) { text[--begin] = c; };
  for (int i = 0; i < decimals; ++i, units /= 10) put(static_cast<char>('0' + units % 10));
  if (decimals > 0) put('.');
  do {
    put(static_cast<char>('0' + units % 10));
    units /= 10;
  } while (units > 0);
  line->append(text.data() + begin, kLongest - begin);
}

// Such as -12.250000, with no more digits than a double holds: a whole number over a power of ten,
// both exact, so that the quotient is the nearest double. nullopt: something else.
std::optional<double> ParseDecimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.size() > kMostDigits + 1 || text.empty() || text.front() == '.' || text.back() == '.')
    return std::nullopt;
  int64_t units = 0;
  size_t point = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      units = 10 * units + (c - '0');
    } else if (c == '.' && point == text.size()) {
      point = i;
    } else {
      return std::nullopt;
    }
  }
  const size_t decimals = point == text.size() ? 0 : text.size() - point - 1;
  if (text.size() > kMostDigits && decimals == 0) return std::nullopt;
  const double value = static_cast<double>(units) / static_cast<double>(kPowersOfTen[decimals]);
  return negative ? -value : value;
}

template <typename Value>
bool ParseWhole(std::string_view text, Value* value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

std::string CsvCell(std::string_view text) {
  std::string cell;
  AppendCell(text, &cell);
  return cell;
}

CsvWriter::CsvWriter(std::filesystem::path path, std::initializer_list<std::string_view> columns,
                     size_t buffer)
    : columns_(columns.size()), file_(std::move(path), buffer) {
  Row(columns);
}

void CsvWriter::Row(std::initializer_list<std::string_view> cells) {
  for (const std::string_view cell : cells) Text(cell);
  End();
}

void CsvWriter::Comma() {
  if (cells_++ > 0) line_.push_back(',');
}

CsvWriter& CsvWriter::Text(std::string_view cell) {
  Comma();
  AppendCell(cell, &line_);
  return *this;
}

CsvWriter& CsvWriter::Integer(int64_t cell) {
  Comma();
  const fmt::format_int digits(cell);
  line_.append(digits.data(), digits.size());
  return *this;
}

CsvWriter& CsvWriter::Number(double cell, int decimals) {
  const std::optional<uint64_t> units = Scaled(cell, decimals);
  Comma();
  if (!units) {
    fmt::format_to(std::back_inserter(line_), "{:.{}f}", cell, decimals);
    return *this;
  }
  if (std::signbit(cell)) line_.push_back('-');
  AppendDecimal(*units, decimals, &line_);
  return *this;
}

CsvWriter& CsvWriter::Seconds(Duration cell) {
  constexpr int kMicroDecimals = 6;
  Comma();
  if (cell < Duration::zero()) line_.push_back('-');
  const int64_t micros = (std::abs(cell.count()) + 500) / 1000;
  AppendDecimal(static_cast<uint64_t>(micros), kMicroDecimals, &line_);
  return *this;
}

void CsvWriter::End() {
  CHECK(cells_ == columns_) << file_.path().string() << ": " << cells_ << " cells";
  line_.push_back('\n');
  file_.Write(line_);
  line_.clear();
  cells_ = 0;
}

std::filesystem::path PlainOrCompressed(const std::filesystem::path& file) {
  std::filesystem::path compressed = file;
  compressed += ".gz";
  std::error_code error;
  return !std::filesystem::exists(file, error) && std::filesystem::exists(compressed, error)
             ? compressed
             : file;
}

CsvReader::CsvReader(const std::filesystem::path& path)
    : path_(PlainOrCompressed(path)), bytes_(OpenFile(path_)) {
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
  text_.clear();
  while (true) {
    const size_t end = block_.find('\n', begin_);
    text_.append(block_, begin_, end - begin_);  // To the block's end if there is none.
    if (end != std::string::npos) {
      begin_ = end + 1;
      return true;
    }
    block_.resize(kBlock);
    block_.resize(bytes_->Read(block_.data(), kBlock));
    begin_ = 0;
    if (block_.empty()) return !text_.empty();
  }
}

void CsvReader::Split() {
  if (!text_.empty() && text_.back() == '\r') text_.pop_back();
  cells_.clear();
  unquoted_.clear();
  unquoted_.reserve(text_.size());  // It must not move: cells point into it.
  const char* const text = text_.data();
  const size_t size = text_.size();
  size_t at = 0;
  while (true) {
    if (at < size && text[at] == '"') {
      cells_.push_back(TakeQuoted(&at));
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
        *at = std::min(text_.find(',', i), text_.size());
        return std::string_view(unquoted_).substr(begin);
      }
      ++i;
    }
    unquoted_.push_back(text_[i]);
  }
  Fail("", "a quote is not closed", "\"…\" within one line");
}

double CsvReader::Number(size_t column) const {
  if (const std::optional<double> decimal = ParseDecimal(cells_[column])) return *decimal;
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
