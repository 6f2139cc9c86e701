#pragma once
// What the commands say of themselves, read from CLI11's tables: what manual pages and shell
// completions are made of. Called by the command that writes them, on one thread.

#include <string>
#include <utility>
#include <vector>

#include "experiments/cli/examples.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cosched {

struct DescribedOption {
  std::vector<std::string> names;  // "-h", "--help"; of a positional one, its name.
  std::string value;               // "INT:1..8", "local|slurm"; "" for flags.
  std::string help;
  std::string fallback;  // The default, "" where there is none to tell.
  bool required = false;
  bool several = false;  // Takes more than one value.

  std::vector<std::string> Choices() const;  // Of value; none if it is no list of words.
};

struct DescribedCommand {
  std::vector<std::string> words;  // "cosched", "trace", "describe".
  std::string usage;               // Those, with what stands between: "cosched ctl TARGET set".
  std::string about;
  std::vector<DescribedOption> positionals, options;
  std::vector<std::pair<std::string, std::string>> commands;  // Below it: name, what it is for.
  std::vector<CommandExample> examples;

  std::string Name(char between = ' ') const;  // "cosched trace describe"
};

// The app and all commands below it, each before those below; but for hidden ones.
std::vector<DescribedCommand> DescribeCommands(const CLI::App& app);

}  // namespace cosched
