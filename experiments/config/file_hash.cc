#include "experiments/config/file_hash.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <iterator>

namespace cosched {

std::string FileHash(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  uint64_t hash = 0xcbf29ce484222325;
  for (auto byte = std::istreambuf_iterator<char>(stream); byte != std::istreambuf_iterator<char>();
       ++byte)
    hash = (hash ^ static_cast<unsigned char>(*byte)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace cosched
