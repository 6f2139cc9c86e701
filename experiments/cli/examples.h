#pragma once
// What each command's `--help`, and its manual page, end with: commands that work as they stand, in
// a folder with what they name. Called by main once all commands are there; on one thread.
// tests/kit/examples_test.py runs each, and fails for a command without one.

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace cosched {

struct CommandExample {
  std::string_view line;   // "cosched run quickstart --trials 1"
  std::string_view words;  // What it does, in a few words.
};

// words: what leads to the command, {"trace", "describe"}; none for `cosched` itself.
std::vector<CommandExample> ExamplesOf(const std::vector<std::string>& words);

// As the footers of the app and of each command below it.
void AddExamples(CLI::App& app);

}  // namespace cosched
