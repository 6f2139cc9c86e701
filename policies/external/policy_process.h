#pragma once
// A child process that answers lines with lines: the other end of
// policies/external/policy_protocol.h. Used from one thread. SIGPIPE is never raised: the two ends
// are a socket.

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/unique_fd.h"

namespace cosched {

class PolicyProcess {
 public:
  // Runs `sh -c command` in the directory, in a process group of its own. Throws
  // std::runtime_error.
  PolicyProcess(const std::string& command, const std::filesystem::path& directory);
  // Closes its input, which tells it to end, and kills what has not ended soon after.
  ~PolicyProcess();
  PolicyProcess(const PolicyProcess&) = delete;
  PolicyProcess& operator=(const PolicyProcess&) = delete;

  // Sends a line, returns the next one that it writes, both without the newline. Throws
  // std::runtime_error: it has ended (and how), takes longer than the limit, or writes too much.
  std::string Ask(std::string line, Duration limit);

 private:
  std::string HowItEnded();
  bool Receive();  // What is there; false at its end.
  // False when the time is up.
  bool WaitFor(short events, std::chrono::steady_clock::time_point deadline) const;

  UniqueFd socket_;
  pid_t pid_ = -1;  // -1: reaped.
  std::string received_;
};

}  // namespace cosched
