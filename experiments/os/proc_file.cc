#include "experiments/os/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "engine/base/unique_fd.h"

namespace cosched {

ProcFile ProcFile::Read(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {.text = {}, .error = errno};
  ProcFile content;
  std::array<char, 4096> part;
  while (true) {
    const ssize_t size = read(file.get(), part.data(), part.size());
    if (size > 0) content.text.append(part.data(), static_cast<size_t>(size));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) content.error = errno;
    if (size <= 0) return content;
  }
}

}  // namespace cosched
