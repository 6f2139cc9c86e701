#pragma once
// A trace file's text, line by line or (where a line has no bound) piece by piece, through one
// buffer: nothing is allocated per line and memory does not grow with the file. Used by the readers
// of traces. What is no text (zero bytes, UTF-16, a line of gigabytes) ends in an InputError. Not
// thread-safe.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/byte_source.h"

namespace cosched {

class TextInput {
 public:
  // No line of a format is longer; the widest known (azure-functions-2019) has about 10 KiB.
  static constexpr size_t kLongestLine = 1 << 20;

  explicit TextInput(const std::filesystem::path& file);
  // `file` is what errors call it.
  TextInput(std::unique_ptr<ByteSource> source, std::string file);

  const std::string& File() const { return file_; }

  // The file's beginning, at most 64 KiB, without a byte order mark; it stays to be read.
  // REQUIRES: nothing was read.
  std::string_view Head();
  bool HeadIsAll();  // Whether Head() is the whole file.

  // The next line without its end (LF or CRLF; the last one needs none), or false at the end. The
  // view is valid until the next call of anything here.
  bool Line(std::string_view* line);
  int LineNumber() const { return line_number_; }  // The line that Line gave; 0 before.

  // For text without lines: the bytes at hand, at least one unless the file has ended; they stay
  // until they are consumed. Zero bytes are refused here too.
  std::string_view Piece();
  void Consume(size_t bytes);

  // All that is left; an error if it is more than `limit` bytes.
  std::string Rest(size_t limit);

  // Throws InputError at the current line.
  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed = "") const;

 private:
  // Reads on behind what is there. False at the end of the file.
  bool Fill();
  void Start();  // Looks at the first bytes, once.

  std::string file_;
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool started_ = false;
  bool filled_ = false;  // Once at least.
  bool source_ended_ = false;
  bool beyond_ascii_ = false;  // The buffer may hold bytes that have to be checked to be UTF-8.
  int line_number_ = 0;
};

// Whether the text is well-formed UTF-8 (RFC 3629).
bool IsUtf8(std::string_view text);

}  // namespace cosched
