#pragma once
// A file without a name in the folder for temporary files (TMPDIR): what does not fit in memory. It
// is gone with the process. Throws OutputError where it can't be written or read. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cosched {

class TemporaryFile {
 public:
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void Append(std::string_view bytes);
  int64_t Size() const { return size_; }
  // Exactly `size` bytes. REQUIRES: they were appended.
  void ReadAt(int64_t offset, char* data, size_t size) const;

 private:
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace cosched
