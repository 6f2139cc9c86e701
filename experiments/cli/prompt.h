#pragma once
// What a person is told whose command line can't be understood: the word that is wrong and what it
// may have been, in place of what CLI11 misses first. Called by main, on one thread.

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace cosched {

// The command line in the order given, the program's name left out, with "help COMMAND" as
// "COMMAND --help".
std::vector<std::string> WithHelpAsOption(int argc, const char* const* argv);

// Whether the words end where another command must follow: the help of what they lead to tells
// which. Throws InputError (key: the word) for one that is no command.
bool LacksCommand(const CLI::App& app, const std::vector<std::string>& words);

// From now on every option of every command that takes a value refuses an empty one, such as that of
// a shell's variable which is not set: it would be taken for an option that is not given. Throws
// InputError in parse. Words that may be many are left to who takes them: a program's may be empty.
void RefuseEmptyValues(CLI::App& app);

// Both are told of the app after CLI11 has refused the words. Throw InputError: for an option that
// the command does not have, or a word that is one too many; and for what lacks, comes twice or
// excludes another. Values are refused where their option is added (typed_option.h).
[[noreturn]] void RefuseExtras(const CLI::App& app);
[[noreturn]] void RefuseUsage(const CLI::App& app, const CLI::ParseError& error);

}  // namespace cosched
