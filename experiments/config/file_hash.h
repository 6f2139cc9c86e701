#pragma once
// The hash of a file that an experiment rests on, for its manifest. Called by the readers of
// [machine] and [[device]], and for what a figure was made of.

#include <filesystem>
#include <string>
#include <string_view>

namespace cosched {

// FNV-1a, 64 bits, hexadecimal.
std::string TextHash(std::string_view text);

// The same of a file's bytes; of none if it can't be read.
std::string FileHash(const std::filesystem::path& file);

}  // namespace cosched
