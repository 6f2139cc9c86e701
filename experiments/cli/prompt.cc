#include "experiments/cli/prompt.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "engine/base/did_you_mean.h"
#include "experiments/config/option_refusal.h"

namespace cosched {
namespace {

bool IsOption(const std::string& word) { return word.starts_with('-'); }

std::string CommandNames(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

std::string OptionNames(const CLI::App& command) {
  std::string names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      names += (names.empty() ? "--" : ", --") + name;
  }
  return names;
}

// "cosched trace describe"
std::string FullName(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? "cosched" : FullName(*parent) + " " + command.get_name();
}

bool TakesWords(const CLI::App& command) {
  return std::ranges::any_of(command.get_options(),
                             [](const CLI::Option* option) { return option->get_positional(); });
}

// By its own name: a command of commands finds its children's otherwise.
const CLI::App* FindCommand(const CLI::App& app, const std::string& name) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto found = std::ranges::find(commands, name, [](auto* one) { return one->get_name(); });
  return found == commands.end() ? nullptr : *found;
}

struct Reached {
  const CLI::App* command;
  size_t words = 0;  // So many of them lead there.
};

Reached Follow(const CLI::App& app, const std::vector<std::string>& words) {
  Reached reached{.command = &app};
  for (const std::string& word : words) {
    const std::string known = CommandNames(*reached.command);
    if (IsOption(word) || known.empty()) break;
    const CLI::App* next = FindCommand(*reached.command, word);
    if (next == nullptr && TakesWords(*reached.command)) break;
    if (next == nullptr) {
      RefuseOption(word,
                   fmt::format("`{}` has no such command{}", FullName(*reached.command),
                               DidYouMean(word, known)),
                   known);
    }
    reached.command = next;
    ++reached.words;
  }
  return reached;
}

}  // namespace

std::vector<std::string> WithHelpAsOption(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

const CLI::App& CommandOf(const CLI::App& app, const std::vector<std::string>& words) {
  return *Follow(app, words).command;
}

bool LacksCommand(const CLI::App& app, const std::vector<std::string>& words) {
  const Reached reached = Follow(app, words);
  return reached.words == words.size() && reached.command->get_require_subcommand_min() > 0;
}

void RefuseExtras(const CLI::App& command, const std::vector<std::string>& extras) {
  const auto option = std::ranges::find_if(extras, IsOption);
  if (option == extras.end()) {
    RefuseOption(extras.front(), fmt::format("`{}` takes no more words", FullName(command)),
                 fmt::format("what `{} --help` tells", FullName(command)));
  }
  const std::string name = option->substr(0, option->find('='));
  RefuseOption(name,
               fmt::format("`{}` has no such option{}", FullName(command),
                           DidYouMean(name, OptionNames(command))),
               fmt::format("those that `{} --help` tells", FullName(command)));
}

}  // namespace cosched
