#include "workloads/genomics/bam_writer.h"

#include <fcntl.h>
#include <htslib/bgzf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr size_t kBlockContents = BGZF_BLOCK_SIZE;

// An empty block (SAMv1, section 4.1.2).
constexpr std::string_view kEndOfFile(
    "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0", 28);

}  // namespace

BamBlocks::BamBlocks(std::string header, RecordMerge records)
    : rest_(std::move(header)), records_(std::move(records)) {}

bool BamBlocks::Next(std::string* block) {
  block->clear();
  if (given_ < rest_.size()) {
    *block = rest_.substr(given_, kBlockContents);
    given_ += block->size();
    return true;
  }
  while (waiting_ || records_.Next(&record_)) {
    waiting_ = block->size() + record_.size() > kBlockContents;
    if (waiting_ && !block->empty()) return true;
    if (waiting_) {
      waiting_ = false;
      rest_ = record_;
      given_ = 0;
      return Next(block);
    }
    block->append(record_);
  }
  return !block->empty();
}

std::string CompressBlock(std::string_view contents, int level) {
  CHECK(contents.size() <= kBlockContents) << contents.size();
  CHECK(level >= 0 && level <= 9) << level;
  std::string block(BGZF_MAX_BLOCK_SIZE, '\0');
  size_t size = block.size();
  CHECK(bgzf_compress(block.data(), &size, contents.data(), contents.size(), level) == 0)
      << contents.size();
  block.resize(size);
  return block;
}

BamFile::BamFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
  // What will be in the way at the end is told at once.
  struct stat there {};
  if (lstat(part_.c_str(), &there) == 0) {
    errno = EISDIR;
    if (S_ISDIR(there.st_mode)) Fail("can't be made");
  } else if (errno != ENOENT) {
    Fail("can't be made");
  }
  const std::string folder = std::filesystem::absolute(path_).parent_path().string();
  // Through /proc a nameless file gets its name.
  has_name_ = access("/proc/self/fd", X_OK) != 0;
  if (!has_name_) {
    file_ = UniqueFd(open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
    has_name_ = !file_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT);
  }
  if (has_name_)
    file_ = UniqueFd(open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file_) Fail("can't be made");
}

BamFile::BamFile(const Nameless& nameless) : part_(nameless.folder) {
  file_ = UniqueFd(open(part_.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  if (!file_) Fail("can't hold a temporary file");
}

BamFile::~BamFile() {
  if (file_ && has_name_) unlink(part_.c_str());
}

void BamFile::Write(std::string_view block) {
  bytes_ += static_cast<int64_t>(block.size());
  while (!block.empty()) {
    const ssize_t written = write(file_.get(), block.data(), block.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) Fail("can't be written");
    block.remove_prefix(static_cast<size_t>(written));
  }
}

void BamFile::Finish() {
  Write(kEndOfFile);
  if (!path_.empty() && !has_name_) NamePart();
  if (!path_.empty() && std::rename(part_.c_str(), path_.c_str()) != 0)
    Fail("can't be renamed to " + path_);
  file_.Reset();
}

// A name can't be given in place of another file's, but a file can be renamed so.
void BamFile::NamePart() {
  unlink(part_.c_str());  // Of a process that was killed just here.
  const std::string own = "/proc/self/fd/" + std::to_string(file_.get());
  if (linkat(AT_FDCWD, own.c_str(), AT_FDCWD, part_.c_str(), AT_SYMLINK_FOLLOW) != 0)
    Fail("can't be made");
  has_name_ = true;
}

void BamFile::Discard() {
  if (!path_.empty()) unlink(path_.c_str());
}

void BamFile::Fail(const std::string& what) const {
  throw OutputError(part_ + " " + what + ": " + std::generic_category().message(errno));
}

}  // namespace cosched
