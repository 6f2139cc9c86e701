#include "experiments/records/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

[[noreturn]] void FailToWrite(const std::filesystem::path& path, const char* action) {
  const int error = errno;
  throw OutputError(fmt::format("{}: can't {}: {} (errno {})", path.string(), action,
                                std::generic_category().message(error), error));
}

// One whole gzip file; several, one behind the other, are one again.
std::string Gzipped(std::string_view text) {
  constexpr int kFast = 1, kWindowBits = 15, kGzip = 16, kMemory = 8;
  z_stream stream{};
  CHECK(deflateInit2(&stream, kFast, Z_DEFLATED, kWindowBits + kGzip, kMemory,
                     Z_DEFAULT_STRATEGY) == Z_OK)
      << "zlib";
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END) << "zlib";
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, size_t buffer)
    : path_(std::move(path)),
      compressed_(path_.extension() == ".gz"),
      buffer_(compressed_ ? std::max(buffer, kCompressedPiece) : buffer) {
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) FailToWrite(path_, "open for writing");
}

OutputFile::~OutputFile() {
  try {
    WriteNow(waiting_);
  } catch (const OutputError&) {  // Said in the header.
  }
  close(fd_);
}

void OutputFile::Write(std::string_view text) {
  if (waiting_.size() + text.size() > buffer_) {
    WriteNow(waiting_);
    waiting_.clear();
  }
  if (text.size() > buffer_) return WriteNow(text);
  waiting_ += text;
}

void OutputFile::WriteNow(std::string_view text) {
  std::string packed;
  if (compressed_ && !text.empty()) text = packed = Gzipped(text);
  while (!text.empty()) {
    const ssize_t written = write(fd_, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      FailToWrite(path_, "write");
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void OutputFile::Sync() {
  WriteNow(waiting_);
  waiting_.clear();
  // EINVAL: not a file that can be synced, such as /dev/null or a pipe.
  if (fsync(fd_) != 0 && errno != EINVAL) FailToWrite(path_, "write to disk");
}

void SyncFolder(const std::filesystem::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) FailToWrite(folder, "open");
  const bool synced = fsync(fd) == 0 || errno == EINVAL;
  const int error = errno;
  close(fd);
  errno = error;
  if (!synced) FailToWrite(folder, "write to disk");
}

void RenameFile(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    FailToWrite(to, "rename the finished file to its name");
}

void ReplaceFolder(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code ignored;
  if (!std::filesystem::exists(to, ignored)) return RenameFile(from, to);
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    std::filesystem::remove_all(from, ignored);
    return;
  }
  // A file system that can't exchange two folders (NFS): for a moment there is none of the name.
  std::filesystem::path old = to;
  old += ".old";
  std::filesystem::remove_all(old, ignored);
  RenameFile(to, old);
  RenameFile(from, to);
  std::filesystem::remove_all(old, ignored);
}

void WriteFileWhole(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path temporary = path;
  temporary += ".partial";
  try {
    OutputFile file(temporary);
    file.Write(text);
    file.Sync();
  } catch (const OutputError&) {
    unlink(temporary.c_str());
    throw;
  }
  RenameFile(temporary, path);
}

}  // namespace cosched
