#include "experiments/os/pinned_child.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cosched {

UniqueFd PinChild(pid_t child) {
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (pidfd) return pidfd;
  const int error = errno;
  kill(child, SIGKILL);  // Ours and not waited for, so the number can't have been given to another.
  waitpid(child, nullptr, 0);
  throw std::system_error(error, std::generic_category(), "pidfd_open");
}

}  // namespace cosched
