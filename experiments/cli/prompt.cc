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
  for (const CLI::App* command : app.get_subcommands({}))
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
  const auto commands = app.get_subcommands({});
  const auto found = std::ranges::find(commands, name, [](auto* one) { return one->get_name(); });
  return found == commands.end() ? nullptr : *found;
}

[[noreturn]] void RefuseCommand(const CLI::App& app, const std::string& word) {
  const std::string known = CommandNames(app);
  RefuseOption(word,
               fmt::format("`{}` has no such command{}", FullName(app), DidYouMean(word, known)),
               known);
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
    if (next == nullptr) RefuseCommand(*reached.command, word);
    reached.command = next;
    ++reached.words;
  }
  return reached;
}

// What stands before the separator; "" if it is not there.
std::string TextBefore(const std::string& text, const std::string& separator) {
  const size_t end = text.find(separator);
  return end == std::string::npos ? "" : text.substr(0, end);
}

// CLI11's parse got as far as this command.
const CLI::App& ParsedCommand(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : ParsedCommand(*parsed.front());
}

[[noreturn]] void RefuseMissing(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  RefuseOption(name, "is required", option == nullptr ? "" : option->get_description());
}

[[noreturn]] void RefuseLackOfCommand(const CLI::App& app, const std::vector<std::string>& words) {
  const auto word = std::ranges::find_if_not(words, IsOption);
  if (word != words.end()) RefuseCommand(app, *word);
  RefuseOption("", fmt::format("`{}` lacks a command", FullName(app)), CommandNames(app));
}

[[noreturn]] void RefuseNoValue(const CLI::Option& option) {
  RefuseValue(option.get_name(), "", option.get_type_name() + ": " + option.get_description());
}

// error: "--x: 1 required INT missing", "--x: At Most 1 required but received 2" and the like.
[[noreturn]] void RefuseCount(const CLI::App& command, const std::string& error) {
  const CLI::Option* option = command.get_option_no_throw(TextBefore(error, ":"));
  if (option == nullptr) RefuseOption("", error, "");
  if (error.ends_with("missing")) RefuseNoValue(*option);
  RefuseOption(option->get_name(), fmt::format("is given {} times", option->count()), "one value");
}

}  // namespace

std::vector<std::string> WithHelpAsOption(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

bool LacksCommand(const CLI::App& app, const std::vector<std::string>& words) {
  const Reached reached = Follow(app, words);
  return reached.words == words.size() && reached.command->get_require_subcommand_min() > 0;
}

void RefuseEmptyValues(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const int most = option->get_items_expected_max();
    if (most == 0 || (most > 1 && option->get_positional())) continue;
    option->check(CLI::Validator(
        [option](const std::string& value) {
          if (value.empty()) RefuseNoValue(*option);
          return std::string();
        },
        ""));
  }
  for (CLI::App* command : app.get_subcommands({})) RefuseEmptyValues(*command);
}

void RefuseExtras(const CLI::App& app) {
  const CLI::App& command = ParsedCommand(app);
  const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
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

void RefuseUsage(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = ParsedCommand(app);
  const std::string text = error.what(), kind = error.get_name();
  if (kind == "RequiredError" && text.starts_with("A subcommand"))
    RefuseLackOfCommand(command, app.remaining(/*recurse=*/true));
  if (kind == "RequiredError") RefuseMissing(command, TextBefore(text, " is required"));
  if (kind == "ArgumentMismatch") RefuseCount(command, text);
  if (kind == "ExcludesError") {
    RefuseOption(TextBefore(text, " excludes "), "is given beside" + text.substr(text.rfind(' ')),
                 "one of the two");
  }
  RefuseOption("", text, "");
}

}  // namespace cosched
