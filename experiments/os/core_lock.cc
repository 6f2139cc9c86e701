#include "experiments/os/core_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

namespace cosched {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPlaceSize = 512;  // Bytes of a CPU in the file.
constexpr size_t kLongestRun = 300;
constexpr mode_t kForAllUsers = 0666;

std::string WhyNot(const std::string& what) {
  return what + ": " + std::generic_category().message(errno);
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id.empty() ? "unknown" : id;
}

// Owned by root, and what is in it can be removed by its owner only.
bool IsForAllUsers(const fs::path& folder) {
  struct stat status {};
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == 0 &&
         (status.st_mode & 01777) == 01777;
}

// Whoever comes first makes it. Where others may write, a file of another user is not opened with
// O_CREAT (the kernel's fs.protected_regular refuses that), and what is no plain file, or has a
// second name elsewhere, is a trap.
UniqueFd OpenFile(const fs::path& path, std::string* problem) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  constexpr int kTries = 10;  // Somebody may remove it in between.
  for (int i = 0; i < kTries; ++i) {
    UniqueFd file(open(path.c_str(), kFlags));
    if (!file && errno == ENOENT) {
      file = UniqueFd(open(path.c_str(), kFlags | O_CREAT | O_EXCL, kForAllUsers));
      if (file) fchmod(file.get(), kForAllUsers);  // Whatever the umask.
      if (!file && errno == EEXIST) continue;
    }
    if (!file) {
      *problem = WhyNot(path.string());
      return {};
    }
    struct stat opened {
    }, named{};
    if (fstat(file.get(), &opened) != 0 || !S_ISREG(opened.st_mode)) {
      *problem = path.string() + ": is no plain file";
      return {};
    }
    if (opened.st_nlink > 1) {
      *problem = path.string() + ": has a second name";
      return {};
    }
    const bool same = lstat(path.c_str(), &named) == 0 && named.st_ino == opened.st_ino &&
                      named.st_dev == opened.st_dev;
    if (same) return file;
  }
  *problem = path.string() + ": is removed again and again";
  return {};
}

struct flock PlaceOf(int cpu, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(cpu) * static_cast<off_t>(kPlaceSize);
  return lock;
}

// By open file descriptions, so that it is this object's and not the process's. The last byte of a
// place is for the guests of its holder.
bool LockPlace(int file, int cpu) {
  struct flock lock = PlaceOf(cpu, F_WRLCK);
  lock.l_len = kPlaceSize - 1;
  return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

struct flock GuestsOf(int cpu, short type) {
  struct flock lock = PlaceOf(cpu, type);
  lock.l_start += kPlaceSize - 1;
  lock.l_len = 1;
  return lock;
}

bool HasGuest(int file, int cpu) {
  struct flock lock = GuestsOf(cpu, F_WRLCK);
  return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// Text that somebody else wrote: one line, and nothing that moves a terminal's cursor.
std::string Printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kPlaceSize)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte >= 0x20 && byte != 0x7f ? c : '?';
  }
  return result;
}

// "process since\nrun\n"; what is not there is left empty: its holder may not have written yet.
CoreUser ReadPlace(int file, int cpu) {
  char buffer[kPlaceSize] = {};
  const ssize_t length =
      pread(file, buffer, sizeof buffer, static_cast<off_t>(cpu) * static_cast<off_t>(kPlaceSize));
  std::string_view text(buffer, length > 0 ? static_cast<size_t>(length) : 0);
  text = text.substr(0, text.find('\0'));
  CoreUser user;
  const std::string_view first = text.substr(0, text.find('\n'));
  const size_t space = first.find(' ');
  std::from_chars(first.data(), first.data() + std::min(space, first.size()), user.process);
  if (space != std::string_view::npos) user.since = Printable(first.substr(space + 1));
  if (first.size() < text.size()) {
    const std::string_view rest = text.substr(first.size() + 1);
    user.run = Printable(rest.substr(0, rest.find('\n')));
  }
  return user;
}

}  // namespace

std::string Describe(const CoreUser& user) {
  if (user.run.empty()) return "a run that is about to begin";
  if (user.process == 0) return user.run;
  return fmt::format("{} (process {}, since {})", user.run, user.process, user.since);
}

fs::path CoreLock::Folder() {
  const char* const named = std::getenv("COSCHED_LOCKS");
  if (named != nullptr && *named != '\0') return named;
  for (const char* folder : {"/run/lock", "/tmp"})
    if (IsForAllUsers(folder)) return folder;
  return {};
}

CoreLock::CoreLock(const CpuSet& cores, const std::string& run, const fs::path& folder)
    : self_{.run = run,
            .process = getpid(),
            .since = fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr))),
            .cores = cores} {
  if (cores.Empty()) return;
  if (folder.empty()) {
    problem_ = "neither /run/lock nor /tmp is a folder that all users may write to";
    return;
  }
  file_ = OpenFile(folder / ("cosched-cores-" + BootId()), &problem_);
  if (!file_) return;
  for (const int cpu : cores) {
    if (LockPlace(file_.get(), cpu)) {
      held_.Add(cpu);
      if (HasGuest(file_.get(), cpu))
        AddOther({.run = "a run that --force let in", .process = 0, .since = "", .cores = {}}, cpu);
      continue;
    }
    if (errno != EAGAIN && errno != EACCES) {
      problem_ = WhyNot("locking the cores");
      return;
    }
    AddOther(ReadPlace(file_.get(), cpu), cpu);
  }
  Write();
}

void CoreLock::AddOther(CoreUser user, int cpu) {
  const auto known = std::find_if(others_.begin(), others_.end(), [&user](const auto& other) {
    return other.process == user.process && other.since == user.since && other.run == user.run;
  });
  CoreUser& other = known == others_.end() ? others_.emplace_back(std::move(user)) : *known;
  other.cores.Add(cpu);
}

void CoreLock::Insist() {
  for (const int cpu : self_.cores) {
    struct flock lock = GuestsOf(cpu, F_RDLCK);
    if (file_) fcntl(file_.get(), F_OFD_SETLK, &lock);
  }
}

void CoreLock::SetRun(const std::string& run) {
  self_.run = run;
  Write();
}

// What can't be written is only a name less.
void CoreLock::Write() const {
  if (!file_) return;
  // The end of a path says more than its beginning.
  const std::string run = self_.run.size() <= kLongestRun
                              ? self_.run
                              : "…" + self_.run.substr(self_.run.size() - kLongestRun);
  std::string place = fmt::format("{} {}\n{}\n", self_.process, self_.since, run);
  place.resize(kPlaceSize, '\0');
  for (const int cpu : held_) {
    if (pwrite(file_.get(), place.data(), place.size(),
               static_cast<off_t>(cpu) * static_cast<off_t>(kPlaceSize)) < 0)
      return;
  }
}

}  // namespace cosched
