#pragma once
// A file that is written row by row: every Write reaches the kernel at once, so a killed process
// loses at most the row it was writing; or, for what can be made again (a simulated cell), only
// when a buffer is full. A file whose name ends in .gz is compressed, in pieces that can be
// unpacked without those that follow. Every failure (full disk, lost folder) throws OutputError,
// which names the file and the reason. Not thread-safe.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace cosched {

class OutputFile {
 public:
  // Compressed in a millisecond, which is how long whoever writes may wait.
  static constexpr size_t kCompressedPiece = 64 << 10;

  // Created, or emptied if it is there. buffer: bytes that may wait before they are written; of a
  // compressed file kCompressedPiece may in any case.
  explicit OutputFile(std::filesystem::path path, size_t buffer = 0);
  ~OutputFile();  // Writes what waits and closes; errors are ignored, so Sync() first.
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(std::string_view text);
  void Sync();  // What has been written survives a power cut.
  const std::filesystem::path& path() const { return path_; }

 private:
  void WriteNow(std::string_view text);

  std::filesystem::path path_;
  const bool compressed_;
  const size_t buffer_;
  std::string waiting_;
  int fd_;
};

// Makes a folder's entries (new files, renames) survive a power cut.
void SyncFolder(const std::filesystem::path& folder);
// Renames; throws OutputError as OutputFile does.
void RenameFile(const std::filesystem::path& from, const std::filesystem::path& to);
// The same for a folder; one that is there of that name is replaced by it, and never half of it.
void ReplaceFolder(const std::filesystem::path& from, const std::filesystem::path& to);
// Writes a whole file under a temporary name beside it and renames it, so that readers see all of
// it or none.
void WriteFileWhole(const std::filesystem::path& path, std::string_view text);

}  // namespace cosched
