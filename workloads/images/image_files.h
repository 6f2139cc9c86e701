#pragma once
// Files with images. Thread-safe: no state.

#include <string>
#include <vector>

namespace cosched {

// The paths of a folder's files that end in .jpg, .jpeg or .png, capital or not, by name; folders in
// it are not looked into. Throws InputError for what is no folder, or has none.
std::vector<std::string> ImageFilesOf(const std::string& folder);

// Throws InputError for a file that can't be read, or has more than 256 MiB.
std::string ReadImageFile(const std::string& path);

}  // namespace cosched
