#include "experiments/hosts/agent_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>

namespace cosched {
namespace {

// Its tenants are killed by then; srun tells of the end of a step after a second or two.
constexpr auto kAgentLeavesWithin = std::chrono::seconds(15);
constexpr auto kAgentTerminatesWithin = std::chrono::seconds(10);
constexpr auto kBetweenAgentLooks = std::chrono::milliseconds(2);

// With the signals as they are in a shell.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigemptyset(&all);
    for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) sigaddset(&all, number);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

}  // namespace

AgentProcess::AgentProcess(std::vector<std::string> command, const std::filesystem::path& log) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  const SpawnAttributes attributes;
  const int error = posix_spawnp(&pid_, argv[0], &actions, attributes.get(), argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = -1;
    throw std::system_error(error, std::generic_category(), "starting " + command.front());
  }
}

AgentProcess::~AgentProcess() {
  if (EndsWithin(kAgentLeavesWithin)) return;
  Terminate();
  if (EndsWithin(kAgentTerminatesWithin)) return;
  kill(pid_, SIGKILL);
  EndsWithin(kAgentTerminatesWithin);
}

bool AgentProcess::Ended() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;
  return pid_ < 0;
}

void AgentProcess::Terminate() {
  if (!Ended()) kill(pid_, SIGTERM);
}

bool AgentProcess::EndsWithin(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!Ended()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kBetweenAgentLooks);
  }
  return true;
}

}  // namespace cosched
