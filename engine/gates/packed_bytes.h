#pragma once
// Numbers and texts one behind the other, as ranks send them to each other: messages
// (rank_message.h) and payloads (payload_codec.h). In the machine's own byte order: ranks run one
// program. A reader believes nothing that it reads. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cosched {

// Bytes that are not what their writer is known to write.
class MalformedBytes : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

class PackedWriter {
 public:
  void Reserve(size_t bytes) { bytes_.reserve(bytes); }
  template <typename T>
  void Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Count(size_t count) { Number(static_cast<uint64_t>(count)); }
  void Text(std::string_view text) {
    Count(text.size());
    bytes_.append(text);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Each throws MalformedBytes where there is less left than it is to read.
class PackedReader {
 public:
  // The bytes outlive it, and the texts that it gives are in them.
  explicit PackedReader(std::string_view bytes) : left_(bytes) {}

  template <typename T>
  T Number() {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, Some(sizeof value).data(), sizeof value);
    return value;
  }
  // Of things that take `least` bytes each, so that no more are made than were sent.
  size_t Count(size_t least) {
    const auto count = Number<uint64_t>();
    if (count > left_.size() / least) throw MalformedBytes("more things than bytes for them");
    return static_cast<size_t>(count);
  }
  std::string_view Text() { return Some(Count(1)); }
  void End() const {
    if (!left_.empty()) throw MalformedBytes("bytes behind the end");
  }

 private:
  std::string_view Some(size_t bytes) {
    if (bytes > left_.size()) throw MalformedBytes("fewer bytes than were announced");
    const std::string_view some = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return some;
  }

  std::string_view left_;
};

}  // namespace cosched
