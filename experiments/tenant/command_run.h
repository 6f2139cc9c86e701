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
  CommandPlace place;   // At the start.
  bool follows = true;  // Its client is told of later grants; else it keeps what it started with.
  ProgramThreads::Mover mover = ProgramThreads::Mover::kThis;
  bool has_input = false;  // It reads what this process would.
  int batch = 1;           // Images of a step, where nobody counts them.
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

  // Steps that were seen together took equally long, since the ones before.
  struct Step {
    int64_t index = 0;
    Clock::time_point begin, end;
    int images = 0;
  };
  // Until it has ended, and nothing of it is left: `told` hears of every step.
  SteeredProgram::End Run(const std::function<void(const Step&)>& told);
  // What whoever reads its results should know of its client; "" = nothing.
  std::string Remark() const;
  // Sends it a signal: it should end.
  void Stop(int signal) { program_.Signal(signal); }

 private:
  bool Steers() const;
  void Wait();
  void CopyOutput();
  void CopyOutput(size_t stream);
  int64_t StepsDone(const ClientPage::Said& said) const;
  void Look(const std::function<void(const Step&)>& told);

  const CommandSettings settings_;
  const std::unique_ptr<ClientPage> page_;
  SteeredProgram program_;
  ProgramThreads threads_;
  std::vector<OutputProgress> readers_;    // Of 1 and 2; none where no output is read.
  ClientPage::Said said_;                  // By its client, when it was looked at last.
  int64_t steps_ = 0, images_ = 0;         // Told of.
  Clock::time_point last_ = Clock::now();  // When that was.
};

}  // namespace cosched
