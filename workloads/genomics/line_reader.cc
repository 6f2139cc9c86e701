#include "workloads/genomics/line_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr size_t kFirstBuffer = 1 << 16;  // Doubled when a line does not fit.

// An error's line is an int; what lies behind the largest one is told as that.
int ErrorLine(int64_t line) {
  return static_cast<int>(std::min<int64_t>(line, std::numeric_limits<int>::max()));
}

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteSource> source, std::string name, size_t longest)
    : source_(std::move(source)), name_(std::move(name)), longest_(longest) {}

bool LineReader::Next(std::string_view* line) {
  if (std::exchange(put_back_, false)) {
    *line = last_;
    return true;
  }
  size_t searched = 0;
  const char* newline = nullptr;
  while (true) {
    const char* const from = buffer_.data() + begin_ + searched;
    newline = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_ - searched));
    searched = newline != nullptr ? static_cast<size_t>(newline - (buffer_.data() + begin_))
                                  : end_ - begin_;
    if (searched > longest_) {
      ++line_;
      Fail("has a line longer than " + std::to_string(longest_) + " bytes");
    }
    if (newline != nullptr || !Fill()) break;
  }
  if (newline == nullptr && searched == 0) return false;
  last_ = std::string_view(buffer_.data() + begin_, searched);
  begin_ += searched + (newline != nullptr ? 1 : 0);
  if (last_.ends_with('\r')) last_.remove_suffix(1);
  ++line_;
  *line = last_;
  return true;
}

void LineReader::Fail(const std::string& problem, const std::string& allowed) const {
  throw InputError(
      {.file = name_, .line = ErrorLine(line_), .problem = problem, .allowed = allowed});
}

bool LineReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(std::max(kFirstBuffer, 2 * buffer_.size()));
  try {
    const size_t got = source_->Read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    return got > 0;
  } catch (const InputError& error) {
    // The source knows the file only; the line tells how far its bytes were good.
    InputErrorDetails details = error.details();
    details.line = ErrorLine(line_ + 1);
    throw InputError(std::move(details));
  }
}

std::string Quoted(char character) {
  const auto code = static_cast<unsigned char>(character);
  if (code > ' ' && code < 127) return std::string("'") + character + "'";
  return "of code " + std::to_string(code);
}

}  // namespace cosched
