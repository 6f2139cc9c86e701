#pragma once
// The process by which a node's agent was started: the agent itself on this machine, or srun. Made
// by ClusterHost. For one thread.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace cosched {

class AgentProcess {
 public:
  // In a process group of its own: Ctrl-C in the terminal is for the harness. What it says goes to
  // the log. Throws std::system_error.
  AgentProcess(std::vector<std::string> command, const std::filesystem::path& log);
  ~AgentProcess();  // Waits for its end, which is asked for before long.
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  bool Ended();  // It is gone, and reaped.
  void Terminate();

 private:
  bool EndsWithin(std::chrono::milliseconds patience);

  pid_t pid_ = -1;  // -1: reaped.
};

}  // namespace cosched
