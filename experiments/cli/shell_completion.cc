#include "experiments/cli/shell_completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "experiments/os/shell_word.h"

namespace cosched {
namespace {

using CommandList = std::vector<DescribedCommand>;

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// 'It\'s so': fish does not know sh's '\''.
std::string FishQuoted(const std::string& text) {
  return "'" + Replaced(Replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// Help is a hint there, so its first part does.
std::string FirstPart(const std::string& help) {
  const size_t end =
      std::min({help.find("; "), help.find(". "), help.find(" ("), help.find(", e.g.")});
  return help.substr(0, end);
}

// "cosched trace"|"cosched trace describe": what leads to a command below cosched itself.
std::string Paths(const CommandList& commands) {
  std::vector<std::string> paths;
  for (const DescribedCommand& command : commands) {
    if (command.words.size() > 1) paths.push_back(fmt::format("\"{}\"", command.Name()));
  }
  return fmt::format("{}", fmt::join(paths, "|"));
}

// Patterns of "COMMAND OPTION" by what follows the option: words to choose from, or "" for a file
// or whatever a person has in mind.
std::map<std::string, std::string> OptionsByValue(const CommandList& commands) {
  std::map<std::string, std::string> patterns;
  for (const DescribedCommand& command : commands) {
    for (const DescribedOption& option : command.options) {
      if (option.value.empty()) continue;
      std::string& pattern = patterns[fmt::format("{}", fmt::join(option.Choices(), " "))];
      for (const std::string& name : option.names)
        pattern += fmt::format("{}\"{} {}\"", pattern.empty() ? "" : "|", command.Name(), name);
    }
  }
  return patterns;
}

std::vector<std::string> NamesOfOptions(const DescribedCommand& command) {
  std::vector<std::string> names;
  for (const DescribedOption& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// The words that may come next beside options: commands, or what positional arguments may be.
std::vector<std::string> NextWords(const DescribedCommand& command) {
  std::vector<std::string> words;
  for (const auto& [name, about] : command.commands) words.push_back(name);
  for (const DescribedOption& option : command.positionals) {
    const std::vector<std::string> choices = option.Choices();
    words.insert(words.end(), choices.begin(), choices.end());
  }
  return words;
}

// {0}: the paths of commands; {1}: cases of options with a value; {2}: cases of a command's options;
// {3}: cases of the words that may follow it.
constexpr const char* kBash =
    R"bash(# Completion of cosched in bash: `cosched completion bash` writes it.
_cosched() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} path=cosched i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${{COMP_WORDS[i]}} == -- ]] && return  # Another program's words follow.
    case "$path ${{COMP_WORDS[i]}}" in
      {0}) path+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  [[ $word == = ]] && word=
  [[ $before == = ]] && before=${{COMP_WORDS[COMP_CWORD-2]}}
  [[ ${{COMP_WORDS[COMP_CWORD]}} == = ]] || case "$path $before" in
{1}  esac
  local words=
  if [[ $word == -* ]]; then
    case $path in
{2}    esac
  else
    case $path in
{3}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _cosched cosched
)bash";

std::string BashCompletion(const CommandList& commands) {
  std::string values, options, next;
  for (const auto& [words, pattern] : OptionsByValue(commands)) {
    values += fmt::format(
        "    {}) {}return ;;\n", pattern,
        words.empty() ? "" : fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); ", words));
  }
  for (const DescribedCommand& command : commands) {
    options += fmt::format("      \"{}\") words=\"{}\" ;;\n", command.Name(),
                           fmt::join(NamesOfOptions(command), " "));
    const std::vector<std::string> words = NextWords(command);
    if (!words.empty())
      next += fmt::format("      \"{}\") words=\"{}\" ;;\n", command.Name(), fmt::join(words, " "));
  }
  return fmt::format(kBash, Paths(commands), values, options, next);
}

// As above; {2}: cases of both, each with its help.
constexpr const char* kZsh = R"zsh(#compdef cosched
# Completion of cosched in zsh: `cosched completion zsh` writes it.
_cosched() {{
  local at=cosched before=$words[CURRENT-1] i
  local -a commands options
  for ((i = 2; i < CURRENT; ++i)); do
    if [[ $words[i] == -- ]]; then
      _files
      return
    fi
    case "$at $words[i]" in
      {0}) at+=" $words[i]" ;;
    esac
  done
  case "$at $before" in
{1}  esac
  case $at in
{2}  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option options
  elif (($#commands)); then
    _describe command commands
  else
    _files
  fi
}}
# Read by hand (`source`), or by compinit, which calls the file.
if [[ $funcstack[1] == _cosched ]]; then _cosched "$@"; else compdef _cosched cosched; fi
)zsh";

// 'NAME:HELP', as _describe takes it.
std::string ZshItem(const std::string& name, const std::string& help) {
  return " " +
         ShellQuoted(Replaced(name, ":", "\\:") + ":" + Replaced(FirstPart(help), ":", "\\:"));
}

std::string ZshCompletion(const CommandList& commands) {
  std::string values, items;
  for (const auto& [words, pattern] : OptionsByValue(commands)) {
    values += fmt::format("    {}) {}; return ;;\n", pattern,
                          words.empty() ? "_files" : "compadd -- " + words);
  }
  for (const DescribedCommand& command : commands) {
    std::string next, options;
    for (const auto& [name, about] : command.commands) next += ZshItem(name, about);
    for (const DescribedOption& option : command.positionals) {
      for (const std::string& choice : option.Choices()) next += ZshItem(choice, "");
    }
    for (const DescribedOption& option : command.options) {
      for (const std::string& name : option.names) options += ZshItem(name, option.help);
    }
    items += fmt::format("    \"{}\")\n      commands=({})\n      options=({}) ;;\n",
                         command.Name(), next, options);
  }
  return fmt::format(kZsh, Paths(commands), values, items);
}

constexpr const char* kFish =
    R"fish(# Completion of cosched in fish: `cosched completion fish` writes it.
function __cosched_at --description 'Whether the words so far lead to this command'
    set -l at cosched
    for word in (commandline --tokenize --cut-at-cursor --current-process)[2..-1]
        test "$word" = -- && return 1
        contains -- "$at $word" {} && set at "$at $word"
    end
    test "$at" = "$argv"
end
)fish";

std::string FishCompletion(const CommandList& commands) {
  std::string text = fmt::format(kFish, Replaced(Paths(commands), "|", " "));
  for (const DescribedCommand& command : commands) {
    const std::string start =
        fmt::format("complete -c cosched -n '__cosched_at {}' ", command.Name());
    for (const auto& [name, about] : command.commands)
      text += fmt::format("{}-f -a {} -d {}\n", start, name, FishQuoted(FirstPart(about)));
    for (const DescribedOption& option : command.positionals) {
      const std::vector<std::string> choices = option.Choices();
      if (!choices.empty()) text += fmt::format("{}-f -a '{}'\n", start, fmt::join(choices, " "));
    }
    for (const DescribedOption& option : command.options) {
      text += start;
      for (const std::string& name : option.names)
        text +=
            name.starts_with("--") ? "-l " + name.substr(2) + " " : "-s " + name.substr(1) + " ";
      if (!option.value.empty()) text += "-r ";
      if (const auto choices = option.Choices(); !choices.empty())
        text += fmt::format("-f -a '{}' ", fmt::join(choices, " "));
      text += fmt::format("-d {}\n", FishQuoted(FirstPart(option.help)));
    }
  }
  return text;
}

}  // namespace

std::string ShellCompletion(Shell shell, const CommandList& commands) {
  switch (shell) {
    case Shell::kBash: return BashCompletion(commands);
    case Shell::kZsh: return ZshCompletion(commands);
    case Shell::kFish: return FishCompletion(commands);
  }
  return "";
}

}  // namespace cosched
