#pragma once
// The interference.csv of runs as text for `cosched compare --interference`: a row a tenant with
// what it lost and to whom. Pure but for reading files.

#include <filesystem>
#include <string>
#include <vector>

namespace cosched {

// Throws InputError if a file is malformed. Runs without the files are said to have none.
std::string InterferenceTable(const std::vector<std::filesystem::path>& runs);

}  // namespace cosched
