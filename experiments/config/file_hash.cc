#include "experiments/config/file_hash.h"

#include <fmt/format.h>

#include <cstdint>

#include "engine/base/file_bytes.h"

namespace cosched {

std::string TextHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::string FileHash(const std::filesystem::path& file) { return TextHash(FileBytes(file)); }

}  // namespace cosched
