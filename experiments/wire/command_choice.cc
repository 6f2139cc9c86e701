#include "experiments/wire/command_choice.h"

#include <regex>
#include <utility>

namespace cosched {
namespace {

constexpr std::string_view kOutput = "output:", kFile = "file:";

// Deeper nesting than a longer one has room for is more than the library's recursion may take.
constexpr size_t kLongestExpression = 300;

bool IsExpression(const std::string& text) {
  if (text.size() > kLongestExpression) return false;
  try {
    const std::regex expression(text);
    return true;
  } catch (const std::regex_error&) {
    return false;
  }
}

}  // namespace

std::string ToString(const ProgressSource& source) {
  switch (source.kind) {
    case ProgressSource::Kind::kNone: return "none";
    case ProgressSource::Kind::kOutput: return std::string(kOutput) + source.text;
    case ProgressSource::Kind::kFile: return std::string(kFile) + source.text;
    case ProgressSource::Kind::kClient: return "client";
    case ProgressSource::Kind::kRegions: return "regions";
  }
  return {};
}

std::optional<ProgressSource> ParseProgressSource(std::string_view text) {
  using Kind = ProgressSource::Kind;
  if (text == "none") return ProgressSource{};
  if (text == "client") return ProgressSource{.kind = Kind::kClient, .text = {}};
  if (text == "regions") return ProgressSource{.kind = Kind::kRegions, .text = {}};
  const bool output = text.starts_with(kOutput), file = text.starts_with(kFile);
  if (!output && !file) return std::nullopt;
  ProgressSource source{.kind = output ? Kind::kOutput : Kind::kFile,
                        .text = std::string(text.substr((output ? kOutput : kFile).size()))};
  if (source.text.empty() || (output && !IsExpression(source.text))) return std::nullopt;
  return source;
}

std::string_view ToString(CommandClient client) {
  switch (client) {
    case CommandClient::kNone: return "none";
    case CommandClient::kLibrary: return "library";
    case CommandClient::kOpenMp: return "openmp";
  }
  return {};
}

bool ParseCommandClient(std::string_view text, CommandClient* client) {
  for (const CommandClient known :
       {CommandClient::kNone, CommandClient::kLibrary, CommandClient::kOpenMp}) {
    if (text != ToString(known)) continue;
    *client = known;
    return true;
  }
  return false;
}

std::string CommandProgramName(const CommandChoice& command) {
  std::string name;
  for (const std::string& argument : command.arguments)
    name += (name.empty() ? "" : " ") + argument;
  if (command.client == CommandClient::kNone) return name;
  return name + " (client " + std::string(ToString(command.client)) + ")";
}

std::optional<CommandRefusal> ChooseClientLibrary(const std::filesystem::path& binary,
                                                  CommandChoice* command) {
  if (command->client != CommandClient::kOpenMp) {
    if (command->progress.kind != ProgressSource::Kind::kRegions) return std::nullopt;
    return CommandRefusal{"progress", "is \"regions\", which nobody counts",
                          "that with client \"openmp\""};
  }
  constexpr const char* kName = "libcosched_openmp.so";
  const std::filesystem::path beside = binary.parent_path() / kName;
  std::error_code ignored;
  for (const auto& library : {beside, binary.parent_path().parent_path() / "lib/cosched" / kName}) {
    if (!std::filesystem::exists(library, ignored)) continue;
    command->preload = library.string();
    return std::nullopt;
  }
  return CommandRefusal{"client", "is \"openmp\", but there is no " + beside.string(),
                        "that after cmake --build --preset release --target cosched_openmp"};
}

std::string Expanded(std::string_view text, const CommandPlace& place) {
  const std::pair<std::string_view, std::string> words[] = {
      {"{threads}", std::to_string(place.threads)},     {"{cores}", place.cores.ToString()},
      {"{count}", std::to_string(place.cores.Count())}, {"{steps}", std::to_string(place.steps)},
      {"{seed}", std::to_string(place.seed)},           {"{job}", std::to_string(place.job)}};
  std::string expanded;
  while (!text.empty()) {
    size_t taken = 0;
    for (const auto& [word, value] : words) {
      if (!text.starts_with(word)) continue;
      expanded += value;
      taken = word.size();
    }
    if (taken == 0) expanded += text[taken++];
    text.remove_prefix(taken);
  }
  return expanded;
}

}  // namespace cosched
