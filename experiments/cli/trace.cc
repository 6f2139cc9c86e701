#include "experiments/cli/trace.h"

#include <CLI/CLI.hpp>

namespace cosched {

void AddTraceCommand(CLI::App& app, int* exit_code) {
  CLI::App* trace =
      app.add_subcommand("trace", "Explain, convert and generate traces of jobs and requests");
  trace->require_subcommand(1);
  // One line a subcommand: AddTrace…Command(*trace, exit_code).
  static_cast<void>(exit_code);
}

}  // namespace cosched
