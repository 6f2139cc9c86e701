#include "traces/input/row.h"

#include <algorithm>
#include <utility>

namespace cosched {

std::string Quoted(std::string_view content) {
  constexpr size_t kShown = 80;
  size_t shown = std::min(kShown, content.size());
  while (shown > 0 && shown < content.size() && (content[shown] & 0xc0) == 0x80) --shown;
  std::string quoted = "\"";
  for (const char c : content.substr(0, shown)) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    quoted += control ? '?' : c;
  }
  quoted += content.size() > shown ? "…\"" : "\"";
  return quoted;
}

Columns::Columns(std::string file, int line, std::vector<std::string> names)
    : file_(std::move(file)), line_(line), names_(std::move(names)) {}

size_t Columns::Required(std::string_view name) const {
  if (const std::optional<size_t> column = Find({name})) return *column;
  std::string all;
  for (const std::string& known : names_) all += (all.empty() ? "" : ",") + known;
  Fail(std::string(name), "the header lacks this column", "not only " + Quoted(all));
}

std::optional<size_t> Columns::Find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) return static_cast<size_t>(found - names_.begin());
  }
  return std::nullopt;
}

void Columns::Fail(const std::string& column, const std::string& problem,
                   const std::string& allowed) const {
  throw InputError(
      {.file = file_, .line = line_, .key = column, .problem = problem, .allowed = allowed});
}

int64_t Row::WholeNumber(size_t column, int64_t min, int64_t max) const {
  int64_t value = 0;
  if (!ParseWholeNumber(cells_[column], &value) || value < min || value > max)
    RefuseInteger(column, min, max);
  return value;
}

Duration Row::Seconds(size_t column, Duration min) const {
  Duration value{0};
  if (!ParseSeconds(cells_[column], &value) || value < min) {
    Refuse(column, min == Duration::zero() ? "seconds from 0 to 9.2e9" : "seconds up to 9.2e9");
  }
  return value;
}

Duration Row::DateTime(size_t column) const {
  Duration value{0};
  if (!ParseDateTime(cells_[column], &value)) {
    Refuse(column, "a date and a time such as 2023-11-16 18:15:46.6805900");
  }
  return value;
}

int64_t Row::Rounded(size_t column) const {
  int64_t value = 0;
  if (!ParseScaled(cells_[column], 0, &value) || value < 0) Refuse(column, "a number from 0");
  return value;
}

std::optional<int> Row::Cores(size_t column) const {
  constexpr int kMaxCores = 1'000'000'000;
  const int64_t cores = WholeNumber(column, -1, kMaxCores);
  return cores > 0 ? std::optional<int>(static_cast<int>(cores)) : std::nullopt;
}

void Row::RefuseInteger(size_t column, int64_t min, int64_t max) const {
  Refuse(column, "an integer from " + std::to_string(min) +
                     (max == INT64_MAX ? "" : " to " + std::to_string(max)));
}

void Row::Refuse(size_t column, const std::string& allowed) const {
  Fail(columns_.Names()[column], "is " + Quoted(cells_[column]), allowed);
}

void Row::Fail(const std::string& column, const std::string& problem,
               const std::string& allowed) const {
  throw BadRow(
      {.file = file_, .line = line_, .key = column, .problem = problem, .allowed = allowed});
}

}  // namespace cosched
