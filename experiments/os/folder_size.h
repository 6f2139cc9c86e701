#pragma once
// How much the files below a folder hold. Thread-safe; the folder may change meanwhile: what goes away
// is not counted. Used where runs are listed and reproduced.

#include <cstdint>
#include <filesystem>

namespace cosched {

// In bytes; 0 if there is no such folder.
uint64_t FolderSize(const std::filesystem::path& folder);

}  // namespace cosched
