#include "engine/base/file_bytes.h"

#include <fstream>
#include <sstream>
#include <utility>

namespace cosched {

std::string FileBytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream bytes;
  // By <<, which catches what reading a folder or a group that is gone throws.
  if (stream) bytes << stream.rdbuf();
  return std::move(bytes).str();
}

}  // namespace cosched
