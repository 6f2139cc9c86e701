#include "experiments/cli/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "engine/base/word_wrap.h"
#include "experiments/os/exit_code.h"

namespace cosched {
namespace {

// The bits of a character of UTF-8 that its first byte and the bytes that follow carry.
uint32_t CodePoint(std::string_view text, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte((*at)++);
  uint32_t point = first >= 0xf0 ? first & 0x07 : first >= 0xe0 ? first & 0x0f : first & 0x1f;
  while (*at < text.size() && (byte(*at) & 0xc0) == 0x80)
    point = point << 6 | (byte((*at)++) & 0x3f);
  return point;
}

// What stands for the text in roff: a plain hyphen, so that what is copied from a page works.
std::string Escaped(std::string_view text) {
  std::string roff;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      roff += fmt::format("\\[u{:04X}]", CodePoint(text, &i));
      continue;
    }
    ++i;
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else if (c == '~') {
      roff += "\\(ti";
    } else if (c == '^') {
      roff += "\\(ha";
    } else {
      roff += c;
    }
  }
  // A line that begins like a macro would be one.
  if (!roff.empty() && (roff.front() == '.' || roff.front() == '\'')) roff.insert(0, "\\&");
  return roff;
}

// In lines of at most 72 characters, of which none begins like a macro.
std::string Paragraph(const std::string& text) {
  std::string lines;
  for (const std::string& line : WordsInLines(text, 72)) lines += Escaped(line) + "\n";
  return lines;
}

std::string Bold(std::string_view text) { return fmt::format("\\fB{}\\fR", Escaped(text)); }
std::string Italic(std::string_view text) { return fmt::format("\\fI{}\\fR", Escaped(text)); }

std::string ManHelp(const DescribedOption& option) {
  std::string text = option.help;
  if (!option.fallback.empty() && option.fallback != "false")
    text += fmt::format(" (default: {})", option.fallback);
  if (option.required) text += " (required)";
  return Paragraph(text);
}

std::string ManPositional(const DescribedOption& option) {
  const std::string name = Italic(option.names.front()) + (option.several ? " ..." : "");
  return option.required ? name : "[" + name + "]";
}

std::string ManSynopsis(const DescribedCommand& command) {
  std::string text = fmt::format(".B {}\n", Escaped(command.usage));
  std::vector<std::string> words = {"[" + Italic("OPTION") + " ...]"};
  for (const DescribedOption& option : command.options) {
    if (option.required)
      words.push_back(fmt::format("{} {}", Bold(option.names.back()), Italic(option.value)));
  }
  for (const DescribedOption& option : command.positionals) words.push_back(ManPositional(option));
  if (!command.commands.empty()) words.push_back(Italic("COMMAND") + " ...");
  // \& : "...]" at the end of a line ends no sentence.
  for (const std::string& word : words) text += word + "\\&\n";
  return text;
}

std::string ManOptions(const DescribedCommand& command) {
  std::string text;
  for (const DescribedOption& option : command.positionals) {
    const std::string value = option.Choices().empty() ? "" : " " + Escaped(option.value);
    text += fmt::format(".TP\n{}{}\n{}", Italic(option.names.front()), value, ManHelp(option));
  }
  for (const DescribedOption& option : command.options) {
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back(Bold(name));
    const std::string value = option.value.empty() ? "" : " " + Italic(option.value);
    text += fmt::format(".TP\n{}{}{}\n{}", fmt::join(names, ", "), value,
                        option.several ? " ..." : "", ManHelp(option));
  }
  return text;
}

std::string ManCommands(const DescribedCommand& command) {
  std::string text;
  for (const auto& [name, about] : command.commands)
    text += fmt::format(".TP\n{}\n{}", Bold(command.Name() + " " + name), Paragraph(about));
  return text;
}

std::string ManExamples(const DescribedCommand& command) {
  std::string text;
  for (const CommandExample& example : command.examples) {
    text += fmt::format("{}{}.PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n", text.empty() ? "" : ".PP\n",
                        Paragraph(std::string(example.words) + ":"), Escaped(example.line));
  }
  return text;
}

std::string ManExitStatus() {
  const std::pair<int, const char*> codes[] = {
      {0, "It is done."},
      {kFailed, "It could not be done, or not wholly; or what was compared is not alike."},
      {kBadInput, "What was asked for can't be; one message tells why and what is allowed."},
      {kInterrupted, "It was interrupted."}};
  std::string text;
  for (const auto& [code, meaning] : codes) text += fmt::format(".TP\n.B {}\n{}\n", code, meaning);
  return text;
}

// The pages of the commands right below and of the one above.
std::string ManSeeAlso(const DescribedCommand& command) {
  std::vector<std::string> pages;
  if (command.words.size() > 1) {
    DescribedCommand above = command;
    above.words.pop_back();
    pages.push_back(Bold(above.Name('-')) + "(1)");
  }
  for (const auto& [name, about] : command.commands)
    pages.push_back(Bold(command.Name('-') + "-" + name) + "(1)");
  return fmt::format("{}\n", fmt::join(pages, ",\n"));
}

}  // namespace

std::string ManPageName(const DescribedCommand& command) { return command.Name('-') + ".1"; }

std::string ManPage(const DescribedCommand& command, const std::string& version,
                    const std::string& date) {
  std::string title = command.Name('-');
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string text =
      fmt::format(".\\\" Written by `cosched manuals`.\n.TH {} 1 {} \"cosched {}\" cosched\n",
                  Escaped(title), date, version);
  const auto add = [&text](const char* heading, const std::string& section) {
    if (!section.empty()) text += fmt::format(".SH {}\n{}", heading, section);
  };
  std::string about = command.about;
  if (about.ends_with('.')) about.pop_back();
  add("NAME", fmt::format("{} \\- {}", Escaped(command.Name('-')), Paragraph(about)));
  add("SYNOPSIS", ManSynopsis(command));
  add("COMMANDS", ManCommands(command));
  add("OPTIONS", ManOptions(command));
  add("EXAMPLES", ManExamples(command));
  add("EXIT STATUS", ManExitStatus());
  add("SEE ALSO", ManSeeAlso(command));
  return text;
}

}  // namespace cosched
