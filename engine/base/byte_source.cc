#include "engine/base/byte_source.h"

#include <bzlib.h>
#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr size_t kPackedBuffer = 1 << 16;
constexpr uint64_t kXzMemory = uint64_t{256} << 20;  // xz -9 needs 65 MiB to unpack.
constexpr const char* kCutOff = "is truncated: its compressed data ends early";
constexpr const char* kDamaged = "cannot be read: damaged compressed data";

[[noreturn]] void Fail(const std::string& file, const std::string& problem,
                       const std::string& allowed = "") {
  throw InputError({.file = file, .problem = problem, .allowed = allowed});
}

class PlainFile final : public ByteSource {
 public:
  explicit PlainFile(const std::filesystem::path& file) : name_(file.string()) {
    descriptor_ = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) Fail(name_, "cannot be opened: " + Reason(), "a file that can be read");
    struct stat status;
    if (fstat(descriptor_, &status) == 0 && S_ISDIR(status.st_mode)) {
      close(descriptor_);
      Fail(name_, "is a folder", "a file");
    }
  }
  ~PlainFile() override { close(descriptor_); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  size_t Read(char* data, size_t size) override {
    while (true) {
      const ssize_t got = read(descriptor_, data, size);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) Fail(name_, "cannot be read to its end: " + Reason());
    }
  }

 private:
  static std::string Reason() { return std::generic_category().message(errno); }

  std::string name_;
  int descriptor_ = -1;
};

class Bytes final : public ByteSource {
 public:
  explicit Bytes(std::string_view rest) : rest_(rest) {}
  size_t Read(char* data, size_t size) override {
    const size_t got = rest_.copy(data, size);
    rest_.remove_prefix(got);
    return got;
  }

 private:
  std::string_view rest_;
};

// Packed bytes on their way to a decoder, refilled when they are used up.
class PackedInput {
 public:
  explicit PackedInput(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), buffer_(kPackedBuffer) {}

  // At least `bytes`, unless the file ends before; at most the buffer's size.
  std::string_view Peek(size_t bytes) {
    if (Size() < bytes) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, Size());
      end_ -= begin_;
      begin_ = 0;
      while (end_ < bytes) {
        const size_t got = source_->Read(buffer_.data() + end_, buffer_.size() - end_);
        if (got == 0) break;
        end_ += got;
      }
    }
    return {buffer_.data() + begin_, Size()};
  }
  void Consume(size_t bytes) { begin_ += bytes; }
  size_t Size() const { return end_ - begin_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

// What the three libraries' decoders have in common: a state that eats `in` and fills `out`.
class Unpacked : public ByteSource {
 public:
  Unpacked(PackedInput input, std::string name)
      : name_(std::move(name)), input_(std::move(input)) {}

  size_t Read(char* data, size_t size) override {
    size_t got = 0;
    while (got == 0 && size > 0 && !ended_) {
      const std::string_view in = input_.Peek(1);
      const Step step = Decode(in, data, size);
      input_.Consume(step.eaten);
      got = step.made;
      if (step.stream_ended) {
        ended_ = !AnotherStream();
      } else if (step.eaten == 0 && got == 0) {
        Fail(name_, in.empty() ? kCutOff : kDamaged);
      }
    }
    return got;
  }

 protected:
  struct Step {
    size_t eaten = 0;
    size_t made = 0;
    bool stream_ended = false;
  };
  virtual Step Decode(std::string_view in, char* out, size_t size) = 0;
  virtual std::string_view Magic() const = 0;
  virtual void Restart() = 0;

  std::string name_;

 private:
  // Whether another compressed file follows behind the one that has ended. Zeros behind it are
  // padding (tapes, bgzip's neighbours); anything else is not what a packer writes.
  bool AnotherStream() {
    while (true) {
      const std::string_view rest = input_.Peek(Magic().size());
      if (rest.empty()) return false;
      if (rest.starts_with(Magic())) {
        Restart();
        return true;
      }
      const size_t zeros = std::min(rest.find_first_not_of('\0'), rest.size());
      if (zeros == 0) Fail(name_, "has bytes behind the end of its compressed data");
      input_.Consume(zeros);
    }
  }

  PackedInput input_;
  bool ended_ = false;
};

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kBzip2Magic = "BZh";
constexpr std::string_view kXzMagic = std::string_view(
    "\xfd"
    "7zXZ\0",
    6);

class Gzip final : public Unpacked {
 public:
  Gzip(PackedInput input, std::string name) : Unpacked(std::move(input), std::move(name)) {
    Check(inflateInit2(&stream_, 16 + MAX_WBITS));  // 16: a gzip header is demanded.
  }
  ~Gzip() override { inflateEnd(&stream_); }

 private:
  Step Decode(std::string_view in, char* out, size_t size) override {
    // zlib's interface is not const, but it does not write into its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(std::min(size, size_t{1} << 30));
    const uInt room = stream_.avail_out;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code != Z_STREAM_END && code != Z_BUF_ERROR) Check(code);
    return {in.size() - stream_.avail_in, room - stream_.avail_out, code == Z_STREAM_END};
  }
  std::string_view Magic() const override { return kGzipMagic; }
  void Restart() override { Check(inflateReset(&stream_)); }
  void Check(int code) {
    if (code == Z_OK) return;
    Fail(name_, std::string(kDamaged) + " (gzip: " +
                    (stream_.msg != nullptr ? stream_.msg : "code " + std::to_string(code)) + ")");
  }

  z_stream stream_ = {};
};

class Bzip2 final : public Unpacked {
 public:
  Bzip2(PackedInput input, std::string name) : Unpacked(std::move(input), std::move(name)) {
    Begin();
  }
  ~Bzip2() override { BZ2_bzDecompressEnd(&stream_); }

 private:
  Step Decode(std::string_view in, char* out, size_t size) override {
    stream_.next_in = const_cast<char*>(in.data());
    stream_.avail_in = static_cast<unsigned>(in.size());
    stream_.next_out = out;
    stream_.avail_out = static_cast<unsigned>(std::min(size, size_t{1} << 30));
    const unsigned room = stream_.avail_out;
    const int code = BZ2_bzDecompress(&stream_);
    if (code != BZ_STREAM_END) Check(code);
    return {in.size() - stream_.avail_in, room - stream_.avail_out, code == BZ_STREAM_END};
  }
  std::string_view Magic() const override { return kBzip2Magic; }
  void Restart() override {
    BZ2_bzDecompressEnd(&stream_);
    Begin();
  }
  void Begin() {
    stream_ = {};
    Check(BZ2_bzDecompressInit(&stream_, 0, 0));
  }
  void Check(int code) {
    if (code != BZ_OK)
      Fail(name_, std::string(kDamaged) + " (bzip2: code " + std::to_string(code) + ")");
  }

  bz_stream stream_ = {};
};

class Xz final : public Unpacked {
 public:
  Xz(PackedInput input, std::string name) : Unpacked(std::move(input), std::move(name)) {
    Restart();
  }
  ~Xz() override { lzma_end(&stream_); }

 private:
  Step Decode(std::string_view in, char* out, size_t size) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<uint8_t*>(out);
    stream_.avail_out = size;
    const lzma_ret code = lzma_code(&stream_, LZMA_RUN);
    if (code != LZMA_STREAM_END && code != LZMA_BUF_ERROR) Check(code);
    return {in.size() - stream_.avail_in, size - stream_.avail_out, code == LZMA_STREAM_END};
  }
  std::string_view Magic() const override { return kXzMagic; }
  void Restart() override { Check(lzma_stream_decoder(&stream_, kXzMemory, 0)); }
  void Check(lzma_ret code) {
    if (code == LZMA_OK) return;
    if (code == LZMA_MEMLIMIT_ERROR)
      Fail(name_, "needs more than 256 MiB of memory to unpack", "at most what xz -9 needs");
    Fail(name_, std::string(kDamaged) + " (xz: code " + std::to_string(code) + ")");
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
};

// A file that turned out not to be compressed, from the bytes that were looked at.
class Looked final : public ByteSource {
 public:
  Looked(std::string head, std::unique_ptr<ByteSource> source)
      : head_(std::move(head)), source_(std::move(source)) {}

  size_t Read(char* data, size_t size) override {
    if (given_ == head_.size()) return source_->Read(data, size);
    const size_t got = head_.copy(data, size, given_);
    given_ += got;
    return got;
  }

 private:
  std::string head_;
  size_t given_ = 0;
  std::unique_ptr<ByteSource> source_;
};

std::unique_ptr<ByteSource> Recognise(std::unique_ptr<ByteSource> source, std::string name) {
  std::string head(kXzMagic.size(), '\0');
  size_t got = 0;
  while (got < head.size()) {
    const size_t more = source->Read(head.data() + got, head.size() - got);
    if (more == 0) break;
    got += more;
  }
  head.resize(got);
  const bool bzip2 = head.size() >= 4 && head.starts_with(kBzip2Magic) && head[3] >= '1' &&
                     head[3] <= '9';  // "BZh" alone may be text.
  const bool gzip = head.starts_with(kGzipMagic);
  const bool xz = head == kXzMagic;
  source = std::make_unique<Looked>(std::move(head), std::move(source));
  if (gzip) return std::make_unique<Gzip>(PackedInput(std::move(source)), std::move(name));
  if (bzip2) return std::make_unique<Bzip2>(PackedInput(std::move(source)), std::move(name));
  if (xz) return std::make_unique<Xz>(PackedInput(std::move(source)), std::move(name));
  return source;
}

}  // namespace

std::unique_ptr<ByteSource> OpenFile(const std::filesystem::path& file) {
  return Recognise(std::make_unique<PlainFile>(file), file.string());
}

std::unique_ptr<ByteSource> OpenBytes(std::string_view bytes, std::string name) {
  return Recognise(std::make_unique<Bytes>(bytes), std::move(name));
}

}  // namespace cosched
