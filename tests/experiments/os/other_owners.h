#pragma once
// Names of owners (experiments/os/owner.h) other than this process, for the tests of cleaning.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "experiments/os/owner.h"

namespace cosched {

// Cleaning removes what any owner that is gone has left on this machine: a test that cleans would
// take what one beside it in another process has just made. So each holds this meanwhile. Each user
// has a lock of its own: nobody may open another one's in /tmp.
class AloneInCleaning {
 public:
  AloneInCleaning()
      : lock_(open((std::filesystem::temp_directory_path() /
                    ("cosched-tests." + std::to_string(geteuid()) + ".cleaning"))
                       .c_str(),
                   O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    EXPECT_EQ(flock(lock_, LOCK_EX), 0);
  }
  ~AloneInCleaning() { close(lock_); }
  AloneInCleaning(const AloneInCleaning&) = delete;
  AloneInCleaning& operator=(const AloneInCleaning&) = delete;

 private:
  const int lock_;
};

// An owner that is surely gone: a process that has been waited for.
inline std::string EndedOwner() {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string name = OwnerName();
    _exit(write(ends[1], name.data(), name.size()) == static_cast<ssize_t>(name.size()) ? 0 : 1);
  }
  close(ends[1]);
  char buffer[256];
  const ssize_t length = read(ends[0], buffer, sizeof buffer);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return std::string(buffer, length > 0 ? static_cast<size_t>(length) : 0);
}

// The same number and start time, in a PID namespace that there is not.
inline std::string OwnerElsewhere() {
  std::string name = EndedOwner();
  const size_t user = name.rfind('.');
  return name.insert(user, "1");  // A digit more: no namespace's number is that long.
}

// As older versions named theirs.
inline std::string OldEndedOwner() {
  const std::string name = EndedOwner();
  return name.substr(0, name.find('.', name.find('.') + 1));
}

}  // namespace cosched
