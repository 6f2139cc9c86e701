#include "experiments/config/file_hash.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <iterator>

namespace cosched {

std::string TextHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::string FileHash(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return TextHash(std::string(std::istreambuf_iterator<char>(stream), {}));
}

}  // namespace cosched
