#include "policies/timetable.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr double kLongest = 1e6;  // Seconds.

bool ParseSeconds(std::string_view text, double* seconds) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *seconds);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && *seconds >= 0 && *seconds <= kLongest;
}

}  // namespace

std::string_view TakeUntil(char separator, std::string_view* text) {
  const size_t end = std::min(text->find(separator), text->size());
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return part;
}

std::vector<TimedEntry> SplitTimetable(std::string_view text, const TimetableForm& form) {
  std::vector<TimedEntry> entries;
  while (!text.empty()) {
    const std::string_view written = TakeUntil(' ', &text);
    if (written.empty()) continue;
    TimedEntry entry{.text = written, .value = written};
    double seconds = 0;
    if (!ParseSeconds(TakeUntil(':', &entry.value), &seconds))
      RefuseEntry(form, entry.text, "has no time");
    entry.at = FromSeconds(seconds);
    if (entries.empty() && entry.at != Duration(0))
      RefuseEntry(form, entry.text, "is the first and not at 0");
    if (!entries.empty() && entry.at <= entries.back().at)
      RefuseEntry(form, entry.text, "is not after the last");
    entries.push_back(entry);
  }
  if (entries.empty()) RefuseEntry(form, "", "has no entry");
  return entries;
}

void RefuseEntry(const TimetableForm& form, std::string_view entry, const char* problem) {
  throw InputError({.file = {},
                    .line = 0,
                    .key = std::string(form.key),
                    .problem = fmt::format("\"{}\" {}", entry, problem),
                    .allowed = std::string(form.allowed)});
}

}  // namespace cosched
