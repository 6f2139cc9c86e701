#pragma once
// The command as a person runs it, in a process of its own. For tests that steer it from outside.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/paths.h"

namespace cosched {

struct CommandOutcome {
  int exit_code = -1;
  std::string output, errors;
};

inline std::string ContentsOf(FILE* file) {
  std::string text;
  std::rewind(file);
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  std::fclose(file);
  return text;
}

class CoschedCommand {
 public:
  // prepare: done in the child first.
  explicit CoschedCommand(std::vector<std::string> arguments,
                          const std::function<void()>& prepare = {})
      : output_(std::tmpfile()), errors_(std::tmpfile()) {
    std::vector<char*> argv{const_cast<char*>(CoschedBinary())};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    child_ = fork();
    if (child_ != 0) return;
    if (prepare) prepare();
    dup2(fileno(output_), 1);
    dup2(fileno(errors_), 2);
    execv(CoschedBinary(), argv.data());
    _exit(127);
  }
  ~CoschedCommand() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      End();
    }
  }
  CoschedCommand(const CoschedCommand&) = delete;
  CoschedCommand& operator=(const CoschedCommand&) = delete;

  pid_t pid() const { return child_; }
  CommandOutcome End() {
    int status = 0;
    waitpid(std::exchange(child_, -1), &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ContentsOf(output_), ContentsOf(errors_)};
  }

 private:
  FILE* const output_;
  FILE* const errors_;
  pid_t child_;
};

// Waits without a limit of its own: a test that hangs is ended by ctest.
inline void Until(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace cosched
