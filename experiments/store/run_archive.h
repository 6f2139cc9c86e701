#pragma once
// A run as one zip file, which another machine's `compare` and `report` read once it is unpacked
// there. Entries are named <experiment>/<run>/…, as they lie below results/. Called by `cosched
// runs`; one thread at a time.

#include <filesystem>

namespace cosched {

// All files of the run's folder. Throws InputError (key FILE) if the file is there already,
// OutputError if it can't be written; then there is none.
void ExportRun(const std::filesystem::path& run, const std::filesystem::path& file);

// Below `results`, which is made if it must be; gives the run's folder. Nothing is written outside
// of it, whatever the file says. Throws InputError naming the file if it holds no run, or one that
// is there already, OutputError if that can't be written; then nothing is left.
std::filesystem::path ImportRun(const std::filesystem::path& file,
                                const std::filesystem::path& results);

}  // namespace cosched
