#include "policies/external/policy_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "engine/base/signal_text.h"

namespace cosched {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr Duration kTimeToEnd = std::chrono::milliseconds(500);
constexpr size_t kLongestAnswer = 16 << 20;

[[noreturn]] void Throw(const std::string& doing, int error) {
  throw std::runtime_error(doing + ": " + std::generic_category().message(error));
}

// posix_spawn's two descriptions, which must be destroyed.
struct SpawnSettings {
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

int MillisecondsUntil(SteadyClock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

// A descriptor that becomes readable when the process ends; none if there is no such process.
UniqueFd OpenProcess(pid_t pid) {
  return UniqueFd(pid < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

PolicyProcess::PolicyProcess(const std::string& command, const std::filesystem::path& directory) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) Throw("a socket pair", errno);
  socket_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);

  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(&settings.actions, theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, theirs.get(), STDOUT_FILENO);
  if (!directory.empty())
    posix_spawn_file_actions_addchdir_np(&settings.actions, directory.c_str());
  // Ctrl-C is for cosched, which asks the policy to the end; what cosched ignores or blocks, it
  // does not.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&settings.attributes, &none);
  posix_spawnattr_setsigdefault(&settings.attributes, &all);
  posix_spawnattr_setpgroup(&settings.attributes, 0);
  posix_spawnattr_setflags(&settings.attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  char shell[] = "sh", option[] = "-c";
  std::string text = command;
  char* arguments[] = {shell, option, text.data(), nullptr};
  const int error =
      posix_spawn(&pid_, "/bin/sh", &settings.actions, &settings.attributes, arguments, environ);
  if (error != 0) {
    pid_ = -1;
    Throw(fmt::format("starting it in {}", directory.string()), error);
  }
}

PolicyProcess::~PolicyProcess() {
  socket_.Reset();
  if (pid_ < 0) return;
  const UniqueFd process = OpenProcess(pid_);
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  const bool ends_by_itself =
      process && poll(&ended, 1, static_cast<int>(kTimeToEnd / std::chrono::milliseconds(1))) > 0;
  if (!ends_by_itself) kill(pid_, SIGKILL);
  // What it has left behind, too; the group's number is not reused before its first is reaped.
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

bool PolicyProcess::WaitFor(short events, SteadyClock::time_point deadline) const {
  while (true) {
    pollfd ready{.fd = socket_.get(), .events = events, .revents = 0};
    const int result = poll(&ready, 1, MillisecondsUntil(deadline));
    if (result > 0) return true;
    if (result < 0 && errno != EINTR) Throw("waiting for it", errno);
    if (SteadyClock::now() >= deadline) return false;
  }
}

std::string PolicyProcess::Ask(std::string line, Duration limit) {
  line += '\n';
  const auto deadline = SteadyClock::now() + limit;
  const auto late = [&] {
    return std::runtime_error(fmt::format("no answer within {:g} s", ToSeconds(limit)));
  };
  Receive();
  if (!received_.empty()) {
    throw std::runtime_error("it has written what nobody asked for: " +
                             received_.substr(0, received_.find('\n')));
  }
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t count =
        send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      if (!WaitFor(POLLOUT, deadline)) throw late();
    } else if (errno != EINTR) {
      throw std::runtime_error(HowItEnded());
    }
  }
  while (true) {
    if (const size_t end = received_.find('\n'); end != std::string::npos) {
      const std::string answer = received_.substr(0, end);
      received_.erase(0, end + 1);
      return answer;
    }
    if (received_.size() > kLongestAnswer) throw std::runtime_error("an answer without an end");
    if (!WaitFor(POLLIN, deadline)) throw late();
    if (!Receive()) throw std::runtime_error(HowItEnded());
  }
}

bool PolicyProcess::Receive() {
  char buffer[65536];
  const ssize_t count = recv(socket_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  if (count > 0) received_.append(buffer, static_cast<size_t>(count));
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

std::string PolicyProcess::HowItEnded() {
  const auto deadline = SteadyClock::now() + kTimeToEnd;
  int status = 0;
  const UniqueFd process = OpenProcess(pid_);
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  if (!process || poll(&ended, 1, MillisecondsUntil(deadline)) <= 0)
    return "it has closed its output";
  kill(-pid_, SIGKILL);  // As in the destructor.
  if (waitpid(pid_, &status, 0) != pid_) return "it has ended";
  pid_ = -1;
  if (WIFEXITED(status)) return fmt::format("it has ended with status {}", WEXITSTATUS(status));
  return "it was killed by " + SignalText(WTERMSIG(status));
}

}  // namespace cosched
