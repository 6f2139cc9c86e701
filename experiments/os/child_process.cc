#include "experiments/os/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "experiments/os/exit_code.h"

namespace cosched {
namespace {

void WriteAll(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category());
    if (count > 0) done += static_cast<size_t>(count);
  }
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

int TellAndGive(const std::exception& error, int exit_code) {
  std::fprintf(stderr, "cosched: %s\n", error.what());
  return exit_code;
}

int RunChild(FunctionRef<std::string()> function, int fd) {
  try {
    WriteAll(fd, function());
    return 0;
  } catch (const InputError& error) {
    return TellAndGive(error, kBadInput);
  } catch (const std::exception& error) {
    return TellAndGive(error, kFailed);
  }
}

}  // namespace

ChildOutcome RunInChild(FunctionRef<std::string()> function) {
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  std::fflush(nullptr);  // What is in the buffers would be written twice.
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) _exit(RunChild(function, ends[1]));
  write_end.Reset();
  ChildOutcome outcome;
  outcome.text = ReadAll(read_end.get());
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (outcome.exit_code != 0) outcome.text.clear();
  return outcome;
}

long long PeakMemoryBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    std::istringstream words(line.substr(6));
    long long kilobytes = 0;
    words >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace cosched
