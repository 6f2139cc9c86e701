#pragma once
// What a long command owes to the person at the terminal: it ends in order when it is interrupted,
// and it can say how it was called. One SignalScope at a time in a process.

#include <csignal>
#include <string>

namespace cosched {

// While it lives, the first SIGINT or SIGTERM is noted, and the second one ends this process at
// once; the tenants die with it. kNoted: it does not, as mpirun sends two of them for one.
class SignalScope {
 public:
  enum class Second { kEnds, kNoted };
  explicit SignalScope(Second second = Second::kEnds);
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  struct sigaction old_interrupt_ = {};
  struct sigaction old_terminate_ = {};
};

bool Interrupted();  // Since the latest SignalScope was made.

// This process's command line as it was typed, quoted for a shell.
std::string CommandLine();

}  // namespace cosched
