#include "experiments/os/interrupt.h"

#include <unistd.h>

#include <fstream>

#include "experiments/os/shell_word.h"

namespace cosched {
namespace {

// Set by the first signal; the only state here that is not a command's own.
volatile std::sig_atomic_t interrupted = 0;

}  // namespace

SignalScope::SignalScope(Second second) {
  interrupted = 0;
  struct sigaction action = {};
  const auto note = [](int) { interrupted = 1; };
  const auto note_first = [](int) {
    interrupted = 1;
    // A policy that never answers keeps the run from stopping; whoever waits should know why.
    constexpr char kText[] = "\ninterrupted: stopping; once more to stop at once\n";
    [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, kText, sizeof kText - 1);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
  };
  action.sa_handler = second == Second::kEnds ? +note_first : +note;
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
}

SignalScope::~SignalScope() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool Interrupted() { return interrupted != 0; }

std::string CommandLine() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  std::string line;
  for (std::string word; std::getline(stream, word, '\0');)
    line += (line.empty() ? "" : " ") + ShellQuoted(word);
  return line;
}

}  // namespace cosched
