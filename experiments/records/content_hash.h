#pragma once
// Whether a file or a folder still holds what it held: a hash of all bytes, for the manifest. Not
// for secrets. Thread-safe.

#include <filesystem>
#include <string>

namespace cosched {

// 16 hexadecimal digits; of a folder over the names and bytes of all regular files below it.
// "unreadable" if it can't be read to its end.
std::string ContentHash(const std::filesystem::path& path);

}  // namespace cosched
