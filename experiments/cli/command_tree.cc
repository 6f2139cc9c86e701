#include "experiments/cli/command_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <sstream>

namespace cosched {
namespace {

DescribedOption DescribeOption(const CLI::Option& option) {
  DescribedOption described;
  described.help = option.get_description();
  described.fallback = option.get_default_str();
  described.required = option.get_required();
  described.several = option.get_items_expected_max() > 1;
  if (option.get_positional()) {
    described.names = {option.get_name(/*positional=*/true)};
  } else {
    for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0) described.value = option.get_type_name();
  return described;
}

bool IsHidden(const std::string& group) { return group.empty(); }

// above: the usage of the command above it, with its own positional arguments.
void DescribeBelow(const CLI::App& app, std::vector<std::string> words, const std::string& above,
                   std::vector<DescribedCommand>* commands) {
  DescribedCommand command;
  command.words = words;
  command.usage = above + words.back();
  command.about = app.get_description();
  std::string usage = command.usage + " ";
  command.examples = ExamplesOf({words.begin() + 1, words.end()});
  for (const CLI::Option* option : app.get_options()) {
    if (IsHidden(option->get_group())) continue;
    (option->get_positional() ? command.positionals : command.options)
        .push_back(DescribeOption(*option));
    if (option->get_positional()) {
      std::string name = option->get_name(/*positional=*/true);
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
      usage += name + " ";
    }
  }
  std::vector<const CLI::App*> below;
  for (const CLI::App* one : app.get_subcommands({})) {
    if (IsHidden(one->get_group())) continue;
    below.push_back(one);
    command.commands.emplace_back(one->get_name(), one->get_description());
  }
  commands->push_back(std::move(command));
  for (const CLI::App* one : below) {
    words.push_back(one->get_name());
    DescribeBelow(*one, words, usage, commands);
    words.pop_back();
  }
}

}  // namespace

std::vector<std::string> DescribedOption::Choices() const {
  const auto is_of_words = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '|';
  };
  if (value.find('|') == std::string::npos || !std::ranges::all_of(value, is_of_words)) return {};
  std::vector<std::string> choices;
  std::istringstream stream(value);
  for (std::string choice; std::getline(stream, choice, '|');) choices.push_back(choice);
  return choices;
}

std::string DescribedCommand::Name(char between) const {
  return fmt::format("{}", fmt::join(words, std::string(1, between)));
}

std::vector<DescribedCommand> DescribeCommands(const CLI::App& app) {
  std::vector<DescribedCommand> commands;
  DescribeBelow(app, {"cosched"}, "", &commands);
  return commands;
}

}  // namespace cosched
