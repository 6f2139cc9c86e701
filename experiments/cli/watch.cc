#include "experiments/cli/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/error.h"
#include "experiments/cli/typed_option.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/terminal_columns.h"
#include "experiments/watch/frame.h"
#include "experiments/watch/terminal.h"
#include "experiments/watch/watch_session.h"
#include "experiments/watch/watched_run.h"

namespace cosched {
namespace {

// Of a frame that goes to a file or a pipe.
constexpr int kTextColumns = 100;

struct WatchArguments {
  std::string run;
  std::string results = "results";
  std::optional<size_t> cell;
  std::optional<double> at;
  bool once = false;
};

// Returns the exit code.
int WatchOrPrint(const WatchArguments& arguments) {
  const SignalScope signals;
  WatchSession session(WatchedRun(arguments.run, arguments.results));
  if (arguments.cell) session.ChooseCell(*arguments.cell);
  if (arguments.at) session.ChooseTime(*arguments.at);
  if (!arguments.once && WatchOnTerminal(&session)) return Interrupted() ? kInterrupted : 0;
  const int columns = TerminalColumns(STDOUT_FILENO);
  fmt::print("{}", FrameText(session.Draw(columns > 0 ? columns : kTextColumns, 0)));
  if (columns > 0 && !arguments.once)
    fmt::print(stderr, "shown once: there is no terminal here whose picture can be redrawn\n");
  if (std::fflush(stdout) != 0) throw OutputError("standard output can't be written");
  return 0;
}

}  // namespace

void AddWatchCommand(CLI::App& app, int* exit_code) {
  const auto arguments = std::make_shared<WatchArguments>();
  CLI::App* const command = app.add_subcommand(
      "watch", "What happens in a run, on the terminal: while it goes on, or over it afterwards");
  command->add_option(
      "RUN", arguments->run,
      "Its folder, or its experiment (default: the newest that goes on, or else the "
      "newest)");
  command->add_option("--results", arguments->results, "Where runs are")->capture_default_str();
  command->add_option("--cell", arguments->cell, "The cell to look at, from 1 as it shows them");
  AddNumber(command, "--at", &arguments->at, 0, 1e12, "The second of the cell to look at");
  command->add_flag("--once", arguments->once,
                    "Print what is seen now, once, and end; as it does where there is no terminal");
  command->callback([arguments, exit_code] { *exit_code = WatchOrPrint(*arguments); });
}

}  // namespace cosched
