#pragma once
// The hash of a file that an experiment rests on, for its manifest. Called by the readers of
// [machine] and [[device]].

#include <filesystem>
#include <string>

namespace cosched {

// FNV-1a of its bytes, 64 bits, hexadecimal; of none if it can't be read.
std::string FileHash(const std::filesystem::path& file);

}  // namespace cosched
