#pragma once
// Which run a person wants to watch: the newest of those that go on now; if none does, the newest.
// Reads names and locks only, so that it is quick among many runs. Thread-safe.

#include <filesystem>
#include <string>

namespace cosched {

// word: a run's folder; the folder or name of an experiment below `results`; or "", any below it.
// Throws InputError if there is none.
std::filesystem::path WatchedRun(const std::string& word, const std::filesystem::path& results);

}  // namespace cosched
