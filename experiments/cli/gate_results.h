#pragma once
// What `run` and `compare` make of the gates that were judged. One thread.

#include <string>
#include <vector>

#include "experiments/analysis/gates.h"

namespace cosched {

inline constexpr const char* kJUnitMeaning =
    "Also write how the experiment's gates ([[gate]]) came out to this file, as JUnit's XML";
// Of --junit where there is no gate.
inline constexpr const char* kNoGates = "is given, and the experiment has no gate";
inline constexpr const char* kWantedGates =
    "[[gate]] in the experiment file (cosched list keys gate)";

// Nothing where no file is wanted. Throws InputError (key --junit) if there is no gate, OutputError
// if the file can't be written.
void WriteJUnit(const std::vector<JudgedGates>& gates, const std::string& file);

// Prints a line a gate, and writes the file. Exit code: 1 if one fails, else 0.
int TellGates(const std::vector<JudgedGates>& gates, const std::string& file);

}  // namespace cosched
