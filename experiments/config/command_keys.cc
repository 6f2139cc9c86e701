#include "experiments/config/command_keys.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "experiments/os/find_program.h"
#include "experiments/os/this_binary.h"

namespace cosched {
namespace {

using W = WorkloadConfig;
using Key = SectionKey<W>;
using Json = nlohmann::ordered_json;

std::optional<Key::Refusal> OfCommandsOnly(const W& workload) {
  if (workload.spec.IsCommand()) return {};
  return Key::Refusal{"is of programs of others", "only with command = […]"};
}

void ReadCommand(const Key& key, const TomlTable& table, W* workload) {
  if (!table.Has(key.help.name)) return;
  CommandChoice& command = workload->spec.command;
  command.arguments = table.Strings(key.help.name);
  if (command.arguments.empty() || command.arguments.front().empty())
    table.Fail(key.help.name, "names no program", "[\"program\", \"argument\", …]");
  workload->spec.model.clear();
  workload->spec.batch = 1;
  workload->spec.steps = 0;
}

Json ArgumentsOf(const W& workload) {
  const std::vector<std::string>& arguments = workload.spec.command.arguments;
  return arguments.empty() ? Json() : Json(arguments);
}

void ReadEnvironment(const Key& key, const TomlTable& table, W* workload) {
  const TomlTable variables = table.Table(key.help.name, "{ NAME = \"value\" }");
  for (const std::string& name : variables.Keys()) {
    if (name.find('=') != std::string::npos || name.find('\0') != std::string::npos)
      variables.Fail(name, "is no name of a variable", "a name without \"=\"");
    workload->spec.command.environment.push_back(name + "=" + variables.ScalarText(name));
  }
}

Json EnvironmentOfCommand(const W& workload) {
  Json json = Json::object();
  for (const std::string& variable : workload.spec.command.environment) {
    const size_t equals = variable.find('=');
    json[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return json;
}

void ReadFolder(const Key& key, const TomlTable& table, W* workload) {
  std::error_code error;
  const std::filesystem::path given = table.Folder() / table.String(key.help.name, "");
  // Whether it is there is asked where jobs run the program: a figure may have to make it first.
  const std::filesystem::path folder = std::filesystem::weakly_canonical(given, error);
  workload->spec.command.folder = (error ? given : folder).string();
}

// Each absolute.
void ReadMounts(const Key& key, const TomlTable& table, W* workload) {
  std::vector<std::string>& mounts = workload->spec.command.mounts;
  for (const std::string& given : table.Strings(key.help.name, std::vector<std::string>())) {
    const std::filesystem::path path =
        std::filesystem::absolute(table.Folder() / given).lexically_normal();
    if (given.empty() || path == path.root_path())
      table.Fail(key.help.name, fmt::format("is \"{}\"", given), "files and folders below /");
    mounts.push_back(path.has_filename() ? path.string() : path.parent_path().string());
  }
}

void ReadProgress(const Key& key, const TomlTable& table, W* workload) {
  const std::string text = table.String(key.help.name, "none");
  const std::optional<ProgressSource> source = ParseProgressSource(text);
  if (!source) table.Fail(key.help.name, fmt::format("is \"{}\"", text), key.help.range);
  workload->spec.command.progress = *source;
}

}  // namespace

std::vector<Key> CommandKeys() {
  std::vector<Key> keys = {
      Key::Read(
          {.name = "command",
           .type = "list of texts",
           .fallback = "none",
           .range = "[\"program\", \"argument\", …]; {threads}, {cores}, {count}, {steps}, {seed} "
                    "and {job} are replaced",
           .meaning = "a program of others, in place of a model"},
          ReadCommand, ArgumentsOf)
          .OmittedWhereAbsent(),
      Key::Read(
          {.name = "env",
           .type = "table",
           .fallback = "none",
           .range = "{ NAME = \"value\" }, with the same words",
           .meaning = "variables of the program, beside cosched's own and the numbers of threads"},
          ReadEnvironment, EnvironmentOfCommand),
      Key::Read({.name = "dir",
                 .type = "text",
                 .fallback = "the file's own",
                 .range = "a folder, relative to the file's",
                 .meaning = "where the program runs"},
                ReadFolder, [](const W& workload) { return workload.spec.command.folder; }),
      Key::Read({.name = "mounts",
                 .type = "list of texts",
                 .fallback = "none",
                 .range = "files and folders, relative to the file's",
                 .meaning = "what the program sees in a container beside /usr and dir: read-only, "
                            "at their own paths; a process sees everything"},
                ReadMounts, [](const W& workload) { return Json(workload.spec.command.mounts); }),
      Key::Read(
          {.name = "progress",
           .type = "text",
           .fallback = "none",
           .range = kProgressSources,
           .meaning = "where its steps are counted: lines that it prints (a first group is how "
                      "many are done), a file that begins with their number, or its client"},
          ReadProgress, [](const W& workload) { return ToString(workload.spec.command.progress); }),
      Key::Choice(
          "client", Inside(Inside(&W::spec, &TenantSpec::command), &CommandChoice::client),
          std::vector{CommandClient::kNone, CommandClient::kLibrary, CommandClient::kOpenMp},
          kCommandClientMeaning)};
  for (size_t i = 1; i < keys.size(); ++i) keys[i].refuse = OfCommandsOnly;
  return keys;
}

std::optional<Key::Refusal> OfOwnProgramsOnly(const W& workload) {
  if (!workload.spec.IsCommand()) return {};
  return Key::Refusal{"is of cosched's own programs", "only without command"};
}

void CheckProgramIsThere(const TomlTable& table, const W& workload) {
  const CommandChoice& command = workload.spec.command;
  std::error_code none;
  if (!std::filesystem::is_directory(command.folder, none))
    table.Fail("dir", command.folder + " is no folder", "a folder, relative to the file's");
  for (const std::string& mount : command.mounts) {
    if (!std::filesystem::exists(mount, none))
      table.Fail("mounts", "there is no " + mount, "files and folders, relative to the file's");
  }
  const std::string& program = command.arguments.front();
  const std::filesystem::path file = std::filesystem::path(command.folder) / program;
  std::error_code ignored;
  const bool is_there = program.find('/') == std::string::npos
                            ? !FindProgram(program).empty()
                            : std::filesystem::is_regular_file(file, ignored);
  if (!is_there)
    table.Fail("command", fmt::format("there is no program {}", program),
               "a program in PATH, or its file, relative to dir");
}

void CheckCommand(const TomlTable& table, W* workload) {
  const auto refusal = ChooseClientLibrary(ThisBinary(), &workload->spec.command);
  if (refusal) table.Fail(refusal->key, refusal->problem, refusal->allowed);
}

}  // namespace cosched
