#include "experiments/os/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

namespace cosched {

FileWatch::FileWatch(std::span<const std::filesystem::path> files)
    : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (!inotify_) return;
  bool watched = false;
  for (const std::filesystem::path& file : files)
    watched |= inotify_add_watch(inotify_.get(), file.c_str(), IN_MODIFY) >= 0;
  if (!watched) inotify_.Reset();
}

bool FileWatch::Drain() {
  char events[1024];
  bool written = false;
  while (inotify_ && read(inotify_.get(), events, sizeof events) > 0) written = true;
  return written;
}

}  // namespace cosched
