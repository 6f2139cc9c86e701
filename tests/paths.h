#pragma once
// Where this clone of the sources and what was built of it are. For tests and benchmarks, on any
// thread. Only paths.cc has the paths compiled in: a compiler's cache serves all other files to other
// clones.

#include <string>
#include <string_view>

namespace cosched {

// Absolute; `path` is relative to the source tree.
std::string InSource(std::string_view path);

// Absolute; `path` is relative to the build's folder.
std::string InBuild(std::string_view path);

// The command `cosched`; lives as long as the program.
const char* CoschedBinary();

}  // namespace cosched
