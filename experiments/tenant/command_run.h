#pragma once
// One run of a program of somebody else's: started with the threads that it was given, looked after
// until it ends, its steps counted. Called by who runs one for a host (hosted_command.h) or for a
// person (interactive_command.h), on the main thread; Stop from any.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "engine/base/unique_fd.h"
#include "experiments/tenant/client_page.h"
#include "experiments/tenant/program_threads.h"
#include "experiments/tenant/progress_reader.h"
#include "experiments/tenant/steered_program.h"
#include "experiments/wire/command_choice.h"

namespace cosched {

struct CommandSettings {
  CommandChoice command;
  CommandPlace place;  // At the start.
  ProgramThreads::Mover mover = ProgramThreads::Mover::kThis;
  bool has_input = false;  // It reads what this process would.
};

// The variables that the program has: this process's, the numbers of threads for all runtimes that
// cosched knows, those of the command, and where its client finds its page (null: it has none).
std::vector<std::string> EnvironmentOf(const CommandSettings& settings, const ClientPage* page);

class CommandRun {
 public:
  using Clock = std::chrono::steady_clock;

  // Starts it. Throws InputError if it can't be.
  CommandRun(const CommandSettings& settings, const Topology& topology);

  ProgramThreads& Threads() { return threads_; }
  pid_t pid() const { return program_.pid(); }

  struct Progress {
    int64_t steps = 0, images = 0;  // In all; no images are known but by a client.
    Clock::time_point at;           // When that was seen.
  };
  // Until it has ended, and nothing of it is left: `told` hears of every step that was seen.
  SteeredProgram::End Run(const std::function<void(const Progress&)>& told);
  // Sends it a signal: it should end.
  void Stop(int signal) { program_.Signal(signal); }

 private:
  void Wait();
  void CopyOutput();
  void CopyOutput(size_t stream);
  Progress Look();

  const CommandSettings settings_;
  const std::unique_ptr<ClientPage> page_;
  SteeredProgram program_;
  ProgramThreads threads_;
  std::vector<OutputProgress> readers_;  // Of 1 and 2; none where no output is read.
  Progress seen_;
};

}  // namespace cosched
