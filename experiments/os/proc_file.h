#pragma once
// The whole of one of a process's files in /proc. What such a file is about may end at any moment,
// also between opening and reading: then reading fails (ESRCH), at which a stream's iterators throw.
// For who looks now and then. Thread-safe.

#include <string>

namespace cosched {

struct ProcFile {
  std::string text;  // As much as was read.
  int error = 0;     // Why not all; 0 = it is all.

  static ProcFile Read(const std::string& path);
};

}  // namespace cosched
