#pragma once
// Reads the file of a data set from start to end, packed or not (engine/base/byte_source.h). Every
// failure is an InputError naming the file. Called by the data sets that come from files. Not
// thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/byte_source.h"

namespace cosched {

class DataFile {
 public:
  explicit DataFile(std::string path);

  const std::string& Path() const { return path_; }
  // Exactly this many bytes; `what` names them in the error if the file ends before. Memory grows
  // with the bytes that are there, so that a header which promises too much costs nothing.
  std::vector<uint8_t> Read(size_t bytes, const std::string& what);
  // Everything up to the end; an error if it is more than `limit` bytes.
  std::vector<uint8_t> ReadAll(size_t limit);
  void ExpectEnd();
  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed = "") const;

 private:
  // Appends up to `bytes` to `data`; returns how many there were.
  size_t Append(size_t bytes, std::vector<uint8_t>* data);

  std::string path_;
  std::unique_ptr<ByteSource> source_;
};

}  // namespace cosched
