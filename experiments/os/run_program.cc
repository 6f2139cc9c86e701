#include "experiments/os/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cosched {

StartedProgram StartProgram(std::vector<std::string> arguments, bool quiet) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (quiet) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  StartedProgram started;
  started.error = posix_spawnp(&started.pid, argv[0], &actions, nullptr, argv.data(), environ);
  if (started.error != 0) started.pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  return started;
}

int RunProgram(std::vector<std::string> arguments, bool quiet) {
  const pid_t pid = StartProgram(std::move(arguments), quiet).pid;
  if (pid < 0) return -1;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace cosched
