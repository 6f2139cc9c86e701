#include "workloads/genomics/record_merge.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr size_t kFileBuffer = 1 << 16;  // Of each file that is written or merged.

[[noreturn]] void FailSpilling(const std::string& what) {
  throw OutputError("a temporary file of sorted records " + what + ": " +
                    std::generic_category().message(errno));
}

UniqueFd OpenNamelessFile(const std::string& folder) {
  std::string path = folder + "/cosched_sort_XXXXXX";
  UniqueFd file(mkostemp(path.data(), O_CLOEXEC));
  if (!file || unlink(path.c_str()) != 0) FailSpilling("can't be made in " + folder);
  return file;
}

void WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) FailSpilling("can't be written");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

class MemoryCursor final : public RunCursor {
 public:
  explicit MemoryCursor(RecordRun run) : run_(std::move(run)) {}
  bool Valid() const override { return at_ < run_.entries.size(); }
  const SortKey& Key() const override { return run_.entries[at_].key; }
  std::string_view Record() const override { return run_.Record(run_.entries[at_]); }
  void Advance() override { ++at_; }

 private:
  RecordRun run_;
  size_t at_ = 0;
};

// Each record lies behind its key.
class FileCursor final : public RunCursor {
 public:
  explicit FileCursor(UniqueFd file) : file_(std::move(file)), buffer_(kFileBuffer, '\0') {
    Load();
  }
  bool Valid() const override { return size_ > 0; }
  const SortKey& Key() const override { return key_; }
  std::string_view Record() const override {
    return {buffer_.data() + begin_ + sizeof key_, size_ - sizeof key_};
  }
  void Advance() override {
    begin_ += size_;
    Load();
  }

 private:
  // Sees to it that the record at begin_ is in the buffer as a whole.
  void Load() {
    size_ = 0;
    constexpr size_t kHead = sizeof(SortKey) + kRecordLengthBytes;
    if (!Fill(kHead)) return;
    std::memcpy(&key_, buffer_.data() + begin_, sizeof key_);
    const size_t size = sizeof key_ + RecordBytes(buffer_.data() + begin_ + sizeof key_);
    if (!Fill(size)) {
      errno = EIO;
      FailSpilling("has become shorter");
    }
    size_ = size;
  }
  // At least so many bytes from begin_ on; false if the file ends before.
  bool Fill(size_t bytes) {
    if (end_ - begin_ >= bytes) return true;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    while (end_ < bytes) {
      const ssize_t got = pread(file_.get(), buffer_.data() + end_, buffer_.size() - end_, offset_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) FailSpilling("can't be read");
      if (got == 0) return false;
      end_ += static_cast<size_t>(got);
      offset_ += got;
    }
    return true;
  }

  UniqueFd file_;
  std::string buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  off_t offset_ = 0;
  SortKey key_;
  size_t size_ = 0;  // Of key and record; 0 at the end.
};

}  // namespace

RecordMerge::RecordMerge(std::vector<std::unique_ptr<RunCursor>> runs) {
  for (std::unique_ptr<RunCursor>& run : runs) {
    if (!run->Valid()) continue;
    const SortKey key = run->Key();
    heap_.push_back({key, std::move(run)});
  }
  std::make_heap(heap_.begin(), heap_.end(), After);
}

bool RecordMerge::Next(std::string_view* record, SortKey* key) {
  if (std::exchange(given_, false)) {
    // The run at the top goes on with its next record, which is often the next of all.
    std::pop_heap(heap_.begin(), heap_.end(), After);
    Head& head = heap_.back();
    head.run->Advance();
    if (head.run->Valid()) {
      head.key = head.run->Key();
      std::push_heap(heap_.begin(), heap_.end(), After);
    } else {
      heap_.pop_back();
    }
  }
  if (heap_.empty()) return false;
  given_ = true;
  *record = heap_.front().run->Record();
  if (key != nullptr) *key = heap_.front().key;
  return true;
}

RunWriter::RunWriter(const std::string& folder, RecordMerge merge)
    : run_{.file = OpenNamelessFile(folder)}, merge_(std::move(merge)) {}

bool RunWriter::Write(int64_t bytes) {
  const int64_t until = run_.bytes + bytes;
  std::string_view record;
  SortKey key;
  while (merge_.Next(&record, &key)) {
    buffer_.append(reinterpret_cast<const char*>(&key), sizeof key);
    buffer_.append(record);
    if (buffer_.size() < kFileBuffer) continue;
    Flush();
    if (run_.bytes >= until) return true;
  }
  Flush();
  return false;
}

SpilledRun RunWriter::Finish() { return std::move(run_); }

void RunWriter::Flush() {
  WriteAll(run_.file.get(), buffer_);
  run_.bytes += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
}

std::unique_ptr<RunCursor> OpenRun(RecordRun run) {
  return std::make_unique<MemoryCursor>(std::move(run));
}

std::unique_ptr<RunCursor> OpenRun(SpilledRun run) {
  return std::make_unique<FileCursor>(std::move(run.file));
}

}  // namespace cosched
