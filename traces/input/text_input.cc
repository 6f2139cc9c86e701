#include "traces/input/text_input.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr size_t kFirstBuffer = 4 << 10;  // Many traces are no longer than this.
constexpr size_t kBuffer = 256 << 10;
constexpr size_t kHead = 64 << 10;
constexpr const char* kUtf8 = "UTF-8 text";

bool HasBytesBeyondAscii(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  uint64_t seen = 0;
  size_t i = 0;
  for (; i + sizeof(uint64_t) <= text.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    seen |= word;
  }
  for (; i < text.size(); ++i) seen |= static_cast<unsigned char>(text[i]);
  return (seen & kHighBits) != 0;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    int more = 0;
    uint32_t point = 0;
    uint32_t least = 0;  // Longer forms of smaller numbers are not allowed.
    if (first >= 0xc0 && first < 0xe0) {
      more = 1, point = first & 0x1f, least = 0x80;
    } else if (first >= 0xe0 && first < 0xf0) {
      more = 2, point = first & 0x0f, least = 0x800;
    } else if (first >= 0xf0 && first < 0xf8) {
      more = 3, point = first & 0x07, least = 0x10000;
    } else {
      return false;
    }
    for (; more > 0; --more) {
      if (i == text.size()) return false;
      const auto next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3f);
    }
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    if (point < least || point > 0x10ffff || surrogate) return false;
  }
  return true;
}

TextInput::TextInput(const std::filesystem::path& file)
    : TextInput(OpenFile(file), file.string()) {}

TextInput::TextInput(std::unique_ptr<ByteSource> source, std::string file)
    : file_(std::move(file)), source_(std::move(source)), buffer_(kFirstBuffer) {}

std::string_view TextInput::Head() {
  Start();
  while (end_ - begin_ < kHead && Fill()) {
  }
  return {buffer_.data() + begin_, std::min(kHead, end_ - begin_)};
}

bool TextInput::HeadIsAll() {
  Head();
  return source_ended_ && end_ - begin_ <= kHead;
}

bool TextInput::Line(std::string_view* line) {
  Start();
  size_t searched = begin_;
  while (true) {
    const char* at = buffer_.data() + searched;
    const auto* newline = static_cast<const char*>(std::memchr(at, '\n', end_ - searched));
    if (newline != nullptr || (source_ended_ && begin_ < end_)) {
      const char* line_end = newline != nullptr ? newline : buffer_.data() + end_;
      *line = {buffer_.data() + begin_, static_cast<size_t>(line_end - buffer_.data()) - begin_};
      begin_ += line->size() + (newline != nullptr ? 1 : 0);
      if (line_number_ < std::numeric_limits<int>::max()) ++line_number_;
      if (line->ends_with('\r')) line->remove_suffix(1);
      if (beyond_ascii_ && !IsUtf8(*line)) Fail("holds bytes that are not UTF-8", kUtf8);
      return true;
    }
    const size_t unfinished = end_ - begin_;
    if (unfinished > kLongestLine) {
      ++line_number_;
      Fail("a line is longer than 1 MiB", "lines of at most 1 MiB");
    }
    if (!Fill() && begin_ == end_) return false;
    searched = begin_ + unfinished;  // Fill may have moved it.
  }
}

std::string_view TextInput::Piece() {
  Start();
  while (begin_ == end_ && Fill()) {
  }
  return {buffer_.data() + begin_, end_ - begin_};
}

void TextInput::Consume(size_t bytes) { begin_ += bytes; }

std::string TextInput::Rest(size_t limit) {
  std::string rest;
  for (std::string_view piece = Piece(); !piece.empty(); piece = Piece()) {
    if (rest.size() + piece.size() > limit)
      Fail("is longer than " + std::to_string(limit) + " bytes");
    rest += piece;
    Consume(piece.size());
  }
  return rest;
}

bool TextInput::Fill() {
  if (source_ended_) return false;
  if (begin_ == end_) {
    begin_ = end_ = 0;
    beyond_ascii_ = false;
  } else if (buffer_.size() - end_ < kBuffer / 2) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (filled_ && buffer_.size() - end_ < kBuffer / 2) {
    buffer_.resize(std::max(kBuffer, 2 * buffer_.size()));
  }
  const size_t got = source_->Read(buffer_.data() + end_, buffer_.size() - end_);
  filled_ = true;
  source_ended_ = got == 0;
  const std::string_view fresh(buffer_.data() + end_, got);
  end_ += got;
  if (fresh.find('\0') != std::string_view::npos) {
    Fail("is not text, or UTF-16: it holds zero bytes", kUtf8);
  }
  beyond_ascii_ |= HasBytesBeyondAscii(fresh);
  return got > 0;
}

void TextInput::Start() {
  if (started_) return;
  started_ = true;
  constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";  // What spreadsheets put before UTF-8.
  while (end_ < kUtf8Mark.size() && Fill()) {
  }
  if (std::string_view(buffer_.data(), end_).starts_with(kUtf8Mark)) begin_ = kUtf8Mark.size();
}

void TextInput::Fail(const std::string& problem, const std::string& allowed) const {
  throw InputError({.file = file_, .line = line_number_, .problem = problem, .allowed = allowed});
}

}  // namespace cosched
