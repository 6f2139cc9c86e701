#pragma once
// A program of somebody else's that a tenant has started: the process, all that it starts, what it
// prints, and its end. Whatever of it loses its parent becomes the tenant's child, so that nothing of
// it gets out of sight: all that descends from this process is the program's. Made and ended on the
// tenant's main thread; ConfineTo and Signal from any.

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"
#include "engine/base/unique_fd.h"

namespace cosched {

struct ProgramStart {
  std::vector<std::string> arguments;    // The program, found in PATH, first.
  std::vector<std::string> environment;  // "NAME=value": its own, and which of this process's.
  std::string folder;                    // "": here.
  std::vector<int> inherited;            // Descriptors beside 0, 1 and 2.
  bool reads_output = false;             // What it prints comes here.
  bool has_input = false;                // This process's; else it reads nothing.
};

class SteeredProgram {
 public:
  // Starts it. Throws InputError about `command` if there is no such program or folder, and
  // std::system_error if there is no process to be had. From then on this process takes in orphans.
  // REQUIRES: this process has no other children.
  explicit SteeredProgram(const ProgramStart& start);
  ~SteeredProgram();  // Kills all of it.
  SteeredProgram(const SteeredProgram&) = delete;
  SteeredProgram& operator=(const SteeredProgram&) = delete;

  pid_t pid() const { return pid_; }
  // Readable when it has ended.
  int pidfd() const { return pidfd_.get(); }
  // What it prints, 1 and 2; -1 where that does not come here, or once it has closed them.
  int Output(size_t stream) const { return outputs_[stream].get(); }
  void CloseOutput(size_t stream) { outputs_[stream].Reset(); }

  // It and all that it has started and that lives.
  std::vector<pid_t> Processes() const;
  // Every thread of it gets exactly these cores. False if the kernel does not allow them.
  // REQUIRES: cores is not empty.
  bool ConfineTo(const CpuSet& cores, const Topology& topology) const;
  void Signal(int signal) const;  // To all of it.

  struct End {
    int exit_code = 0;  // 128 and the signal, as a shell has it.
    std::string how;    // "exited with status 3", "was killed by signal 11 (Segmentation fault)"
  };
  // nullopt while it runs.
  std::optional<End> Ended();
  // Of what it has left to itself, that which has ended.
  void ReapOrphans() const;
  // What it has left behind when it ended.
  void KillRest();

 private:
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::array<UniqueFd, 2> outputs_;
  std::optional<End> end_;
};

}  // namespace cosched
