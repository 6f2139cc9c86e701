#pragma once
// How much the records of a run will be, foreseen from its traces, so that nobody finds out when
// the disk is full. `cosched run` tells it before a run that would write more than kLargeRecords.
// Estimates: within a factor of two where the speed of programs is known. Pure, but for
// FreeSpace().

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "experiments/config/sweep.h"

namespace cosched {

inline constexpr double kLargeRecords = 1e9;  // Bytes of a whole run.

// Bytes by key of [records]; jobs.csv, which is always written, as "jobs".
using RecordsSize = std::map<std::string, double>;
RecordsSize EstimateRecords(const Sweep& sweep);

double TotalSize(const RecordsSize& size);
std::string RecordsSizeText(const RecordsSize& size);  // "about 12 MB"

// What to tell before the run, lines that end in "\n"; "" where it is not large. free: bytes left
// where it goes.
std::string LargeRecordsText(const RecordsSize& size, uintmax_t free);
uintmax_t FreeSpace(const std::filesystem::path& folder);  // As much as there may be if unknown.

}  // namespace cosched
