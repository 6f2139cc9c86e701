#include "experiments/os/terminal_columns.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace cosched {

int TerminalColumns(int fd) {
  winsize size = {};
  return isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace cosched
