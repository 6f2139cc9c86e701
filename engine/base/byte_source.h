#pragma once
// The bytes of a file from its front to its end in constant memory; gzip, bzip2 and xz are
// recognised by the file's first bytes, whatever its name, and unpacked on the way (several
// compressed files one behind the other are one, as for gzip -d). Used by the readers of traces and
// of data sets. Not thread-safe.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace cosched {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `size` bytes; 0 only at the end. Throws InputError, naming the file, where the file can't
  // be read and where compressed data is cut off or damaged.
  virtual size_t Read(char* data, size_t size) = 0;
};

// Throws InputError if the file can't be opened or is a folder. "/dev/stdin" and pipes are files.
std::unique_ptr<ByteSource> OpenFile(const std::filesystem::path& file);

// The same on bytes in memory, which must outlive it; `name` is what errors call the file.
std::unique_ptr<ByteSource> OpenBytes(std::string_view bytes, std::string name);

}  // namespace cosched
