#pragma once
// The program that is running, as a file. Stateless.

#include <filesystem>

namespace cosched {

// Where a tenant's binary is, and what lies beside it is found.
inline std::filesystem::path ThisBinary() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

}  // namespace cosched
