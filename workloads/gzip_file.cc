#include "workloads/gzip_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "engine/base/error.h"

namespace cosched {

struct GzipFile::Handle {
  gzFile file = nullptr;
  ~Handle() {
    if (file != nullptr) gzclose(file);
  }
};

GzipFile::GzipFile(std::string path) : path_(std::move(path)), handle_(new Handle) {
  errno = 0;
  handle_->file = gzopen(path_.c_str(), "rb");
  if (handle_->file == nullptr) Fail("cannot be opened: " + std::generic_category().message(errno));
  gzbuffer(handle_->file, 1 << 17);
}

GzipFile::~GzipFile() = default;

std::vector<uint8_t> GzipFile::Read(size_t bytes, const std::string& what) {
  std::vector<uint8_t> data;
  const size_t got = Append(bytes, &data);
  if (got < bytes) {
    Fail("is truncated: " + what + " need " + std::to_string(bytes) + " bytes, there are " +
         std::to_string(got));
  }
  return data;
}

std::vector<uint8_t> GzipFile::ReadAll(size_t limit) {
  std::vector<uint8_t> data;
  if (Append(limit + 1, &data) > limit) Fail("is longer than " + std::to_string(limit) + " bytes");
  return data;
}

void GzipFile::ExpectEnd() {
  std::vector<uint8_t> rest;
  if (Append(1, &rest) > 0) Fail("has bytes after the last record that its header promises");
}

void GzipFile::Fail(const std::string& problem, const std::string& allowed) const {
  throw InputError({.file = path_, .problem = problem, .allowed = allowed});
}

size_t GzipFile::Append(size_t bytes, std::vector<uint8_t>* data) {
  constexpr size_t kPiece = 1 << 22;
  size_t got = 0;
  while (got < bytes) {
    const size_t wanted = std::min(kPiece, bytes - got);
    data->resize(got + wanted);
    const int read = gzread(handle_->file, data->data() + got, static_cast<unsigned>(wanted));
    got += read > 0 ? static_cast<size_t>(read) : 0;
    data->resize(got);
    if (read < static_cast<int>(wanted)) {
      // gzread gives the bytes before a damage or a cut without a word; only gzerror tells.
      int code = Z_OK;
      const char* message = gzerror(handle_->file, &code);
      if (code == Z_BUF_ERROR) Fail("is truncated: its compressed data ends early");
      if (code != Z_OK && code != Z_STREAM_END) Fail(std::string("cannot be read: ") + message);
      break;
    }
  }
  return got;
}

}  // namespace cosched
