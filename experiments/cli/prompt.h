#pragma once
// What a person is told whose command line can't be understood: the word that is wrong and what it
// may have been, in place of what CLI11 misses first. Called by main, on one thread.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cosched {

// The command line in the order given, the program's name left out, with "help COMMAND" as
// "COMMAND --help".
std::vector<std::string> WithHelpAsOption(int argc, const char* const* argv);

// The command that the words lead to before it is an option's turn, or the app itself. Throws
// InputError (key: the word) for one that is no command.
const CLI::App& CommandOf(const CLI::App& app, const std::vector<std::string>& words);

// Whether they end where another command must follow: the help of what they lead to tells which.
bool LacksCommand(const CLI::App& app, const std::vector<std::string>& words);

// Throws InputError for an option that the command does not have, or a word that is one too many.
// extras: what nobody took, not empty.
[[noreturn]] void RefuseExtras(const CLI::App& command, const std::vector<std::string>& extras);

}  // namespace cosched
