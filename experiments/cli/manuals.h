#pragma once
// `cosched manuals` and `cosched completion`: manual pages and shells' completions, made from the
// commands' own tables. Called by main, and by `cmake --install` (experiments/setup/install.cmake).

namespace CLI {
class App;
}  // namespace CLI

namespace cosched {

// The app outlives the commands.
void AddManualsCommand(CLI::App& app, int* exit_code);
void AddCompletionCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
