#include "traces/input/temporary_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "engine/base/error.h"

namespace cosched {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  throw OutputError("the temporary file of a large trace " + what + ": " +
                    std::generic_category().message(errno) + " (TMPDIR says where it is)");
}

}  // namespace

TemporaryFile::TemporaryFile() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error) / "cosched-trace-XXXXXX";
  errno = error.value();
  if (!error) descriptor_ = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor_ < 0) Fail("can't be made");
  unlink(path.c_str());
}

TemporaryFile::~TemporaryFile() { close(descriptor_); }

void TemporaryFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(), size_);
    if (written < 0) {
      if (errno == EINTR) continue;
      Fail("can't be written");
    }
    size_ += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void TemporaryFile::ReadAt(int64_t offset, char* data, size_t size) const {
  while (size > 0) {
    const ssize_t got = pread(descriptor_, data, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) Fail("can't be read");
    offset += got;
    data += got;
    size -= static_cast<size_t>(got);
  }
}

}  // namespace cosched
