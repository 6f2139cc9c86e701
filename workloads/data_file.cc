#include "workloads/data_file.h"

#include <algorithm>

#include "engine/base/error.h"

namespace cosched {

DataFile::DataFile(std::string path) : path_(std::move(path)), source_(OpenFile(path_)) {}

std::vector<uint8_t> DataFile::Read(size_t bytes, const std::string& what) {
  std::vector<uint8_t> data;
  const size_t got = Append(bytes, &data);
  if (got < bytes) {
    Fail("is truncated: " + what + " need " + std::to_string(bytes) + " bytes, there are " +
         std::to_string(got));
  }
  return data;
}

std::vector<uint8_t> DataFile::ReadAll(size_t limit) {
  std::vector<uint8_t> data;
  if (Append(limit + 1, &data) > limit) Fail("is longer than " + std::to_string(limit) + " bytes");
  return data;
}

void DataFile::ExpectEnd() {
  std::vector<uint8_t> rest;
  if (Append(1, &rest) > 0) Fail("has bytes after the last record that its header promises");
}

void DataFile::Fail(const std::string& problem, const std::string& allowed) const {
  throw InputError({.file = path_, .problem = problem, .allowed = allowed});
}

size_t DataFile::Append(size_t bytes, std::vector<uint8_t>* data) {
  constexpr size_t kPiece = 1 << 22;
  size_t total = 0;
  while (total < bytes) {
    const size_t wanted = std::min(kPiece, bytes - total);
    data->resize(total + wanted);
    const size_t got = source_->Read(reinterpret_cast<char*>(data->data()) + total, wanted);
    total += got;
    data->resize(total);
    if (got == 0) break;
  }
  return total;
}

}  // namespace cosched
