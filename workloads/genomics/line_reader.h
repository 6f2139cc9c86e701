#pragma once
// The lines of a file of sequences, packed or not, with the number of each: what the readers of FASTQ
// and FASTA share. Every failure is an InputError with file and line. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/byte_source.h"

namespace cosched {

class LineReader {
 public:
  // `name` is what errors call the file. A line that is longer than `longest` bytes is an error.
  LineReader(std::unique_ptr<ByteSource> source, std::string name, size_t longest);

  // The next line, without its end (\n or \r\n), which stays valid until the next call; false after
  // the last one.
  bool Next(std::string_view* line);
  // The same line will come again.
  void PutBack() { put_back_ = true; }

  const std::string& Name() const { return name_; }
  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed = "") const;

 private:
  // Moves what is left to the buffer's front and reads more behind it; false at the file's end.
  bool Fill();

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  size_t longest_;
  std::string buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  std::string_view last_;
  int64_t line_ = 0;  // Of what Next gave last, 1-based.
  bool put_back_ = false;
};

// How an error shows a character that has no business where it is: 'x', or its code.
std::string Quoted(char character);

}  // namespace cosched
