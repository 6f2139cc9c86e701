#pragma once
// The form that timetables of policies have in an experiment file: what comes when. Used by policies
// that play one. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"

namespace cosched {

// Where a timetable is written and what its entries may be, for messages.
struct TimetableForm {
  std::string_view key;      // "policy.scripted.timetable"
  std::string_view allowed;  // "text: SECONDS:CORES …"
};

struct TimedEntry {
  Duration at{0};          // Since the job's start.
  std::string_view text;   // As written, for messages.
  std::string_view value;  // What stands behind the time.
};

// What stands before `separator`, which goes too; all of it if there is none.
std::string_view TakeUntil(char separator, std::string_view* text);

// Entries with spaces between them, each SECONDS:VALUE, the first at 0, then rising; at least one.
// They point into the text. Throws InputError.
std::vector<TimedEntry> SplitTimetable(std::string_view text, const TimetableForm& form);

[[noreturn]] void RefuseEntry(const TimetableForm& form, std::string_view entry,
                              const char* problem);

}  // namespace cosched
