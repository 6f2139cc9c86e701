#include "experiments/records/content_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

namespace cosched {
namespace {

constexpr size_t kChunk = size_t{1} << 20;
constexpr const char* kUnreadable = "unreadable";

// As FNV-1a, eight bytes at a time: model files have a gigabyte. Every step is reversible, so that
// two texts which differ in one word never hash alike.
class Hash {
 public:
  void Add(std::string_view bytes) {
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      Mix(word);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
    Mix(rest);
    Mix(bytes.size());
  }
  std::string Text() const { return fmt::format("{:016x}", state_); }

 private:
  void Mix(uint64_t word) { state_ = (state_ ^ word) * uint64_t{0x100000001b3}; }
  uint64_t state_ = 0xcbf29ce484222325;
};

bool AddFile(const std::filesystem::path& file, Hash* hash) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<char> chunk(kChunk);
  while (stream) {
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    hash->Add({chunk.data(), static_cast<size_t>(stream.gcount())});
  }
  return stream.eof() && !stream.bad();
}

bool AddFolder(const std::filesystem::path& folder, Hash* hash) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (entry->is_regular_file(error)) files.push_back(entry->path());
  }
  if (error) return false;
  std::sort(files.begin(), files.end());
  return std::all_of(files.begin(), files.end(), [&](const std::filesystem::path& file) {
    hash->Add(file.lexically_relative(folder).string());
    return AddFile(file, hash);
  });
}

}  // namespace

std::string ContentHash(const std::filesystem::path& path) {
  Hash hash;
  std::error_code error;
  const bool read =
      std::filesystem::is_directory(path, error) ? AddFolder(path, &hash) : AddFile(path, &hash);
  return read ? hash.Text() : kUnreadable;
}

}  // namespace cosched
