#include "experiments/os/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "engine/base/unique_fd.h"

namespace cosched {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kCapturedDeathMilliseconds = 1000;

struct Pipe {
  UniqueFd reader, writer;
};

// The pipe's reader does not block: something that the program has left behind may keep the writer.
std::optional<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// posix_spawn's description of the child's descriptors, which must be destroyed.
class ChildFiles {
 public:
  ChildFiles() { posix_spawn_file_actions_init(&actions_); }
  ~ChildFiles() { posix_spawn_file_actions_destroy(&actions_); }
  ChildFiles(const ChildFiles&) = delete;
  ChildFiles& operator=(const ChildFiles&) = delete;

  void Read(int fd, const char* file) {
    posix_spawn_file_actions_addopen(&actions_, fd, file, O_RDONLY, 0);
  }
  void Write(int fd, int source) { posix_spawn_file_actions_adddup2(&actions_, source, fd); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// A process group of its own.
class OwnGroup {
 public:
  OwnGroup() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
  }
  ~OwnGroup() { posix_spawnattr_destroy(&attributes_); }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// Adds to `text` all that there is to read; closes the descriptor at its end.
void TakeText(UniqueFd* fd, std::string* text) {
  char buffer[4096];
  while (*fd) {
    const ssize_t count = read(fd->get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return fd->Reset();
    text->append(buffer, static_cast<size_t>(count));
  }
}

// Reads both until the process ends. False if that takes longer than the limit.
bool ReadUntilEnd(int process, Steady::time_point deadline, UniqueFd* output, std::string* text,
                  UniqueFd* errors, std::string* said) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Steady::now()).count();
    pollfd descriptors[] = {
        {process, POLLIN, 0}, {output->get(), POLLIN, 0}, {errors->get(), POLLIN, 0}};
    const int ready = poll(descriptors, 3, static_cast<int>(std::max<long>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    TakeText(output, text);
    TakeText(errors, said);
    if (ready <= 0) return false;
    if (descriptors[0].revents != 0) return true;
  }
}

}  // namespace

std::optional<std::string> Capture(const std::vector<std::string>& command, std::string* said,
                                   std::chrono::seconds limit) {
  std::string ignored;
  if (said == nullptr) said = &ignored;
  std::optional<Pipe> output = MakePipe(), errors = MakePipe();
  if (!output || !errors) {
    *said += std::strerror(errno);
    return std::nullopt;
  }
  ChildFiles files;
  files.Read(STDIN_FILENO, "/dev/null");
  files.Write(STDOUT_FILENO, output->writer.get());
  files.Write(STDERR_FILENO, errors->writer.get());
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const OwnGroup group;
  pid_t pid = -1;
  if (const int error = posix_spawnp(&pid, arguments.front(), files.get(), group.get(),
                                     arguments.data(), environ);
      error != 0) {
    *said += command.front() + ": " + std::strerror(error);
    return std::nullopt;
  }
  output->writer.Reset();
  errors->writer.Reset();
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  std::string text;
  const bool ended = process && ReadUntilEnd(process.get(), Steady::now() + limit, &output->reader,
                                             &text, &errors->reader, said);
  if (!ended) {
    *said += command.front() + " did not end within " + std::to_string(limit.count()) + " s";
    kill(pid, SIGKILL);  // Ours and not waited for: its number is still its own.
    pollfd gone{process.get(), POLLIN, 0};
    poll(&gone, 1, kCapturedDeathMilliseconds);
  }
  int status = -1;
  while (waitpid(pid, &status, ended ? 0 : WNOHANG) < 0 && errno == EINTR) continue;
  if (!ended || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

}  // namespace cosched
