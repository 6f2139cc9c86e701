#pragma once
// The run that a person means by a word: its folder, or the folder or name of its experiment for the
// newest. Called by commands that take one run; which of several was taken is said on stderr.

#include <filesystem>
#include <string>

namespace cosched {

// A folder with a manifest is taken as it is, finished or not. Throws InputError.
std::filesystem::path GivenRun(const std::string& word);

}  // namespace cosched
