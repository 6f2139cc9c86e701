#pragma once
// A program of somebody else's as a tenant: what is executed, how it tells how far it is, and
// whether it is told how many threads to have. Plain data, shared by configuration, hosts and the
// tenant that starts it (experiments/tenant/hosted_command.h). Stateless, so thread-safe.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/cpu_set.h"

namespace cosched {

// Where its steps are counted.
struct ProgressSource {
  enum class Kind {
    kNone,     // Nowhere.
    kOutput,   // In what it prints: lines in which a regular expression (ECMAScript) is found. Its
               // first group, if it has one, is how many steps are done; else each line is a step.
    kFile,     // In a file that begins with how many are done.
    kClient,   // In the page that it shares with its tenant: the client's step().
    kRegions,  // There, too: parallel regions of OpenMP, with the client for that.
  };
  Kind kind = Kind::kNone;
  std::string text;  // The expression, or the file's name, relative to the program's folder.
  friend bool operator==(const ProgressSource&, const ProgressSource&) = default;
};
std::string ToString(const ProgressSource& source);  // As kProgressSources has them.
inline constexpr const char* kProgressSources =
    "none, client, regions, file:NAME, output:REGEX (ECMAScript's, up to 300 bytes)";
// nullopt for anything else, or an expression that is none or longer than 300 bytes.
std::optional<ProgressSource> ParseProgressSource(std::string_view text);

// What changes the number of its threads while it runs.
enum class CommandClient {
  kNone,     // nothing: it keeps the threads that it starts with
  kLibrary,  // the program: it asks libcosched_client or cosched.py between two steps
  kOpenMp,   // a library that is preloaded, between two parallel regions
};
inline constexpr const char* kCommandClientMeaning =
    "what changes its threads while it runs: nothing; the program, by libcosched_client or "
    "cosched.py; "
    "or, between two parallel regions of OpenMP or calls of OpenBLAS or BLIS, a library that is "
    "preloaded";
std::string_view ToString(CommandClient client);  // "none", "library", "openmp"
bool ParseCommandClient(std::string_view text, CommandClient* client);

struct CommandChoice {
  std::vector<std::string> arguments;    // The program, found in PATH, first. None: no command.
  std::vector<std::string> environment;  // "NAME=value", beside what its tenant has.
  std::string folder;                    // It runs there; "" = where cosched does.
  ProgressSource progress = {};
  CommandClient client = CommandClient::kNone;
  std::string preload;              // The file of that library; "" = none.
  std::vector<std::string> mounts;  // Files and folders that it sees in a container, too.
};
// What of a choice is not there, or does not go together.
struct CommandRefusal {
  std::string key;  // "client", "progress".
  std::string problem;
  std::string allowed;
};
// Names the library that the client preloads: it lies beside cosched's own binary, or in
// ../lib/cosched. nullopt: all is well.
std::optional<CommandRefusal> ChooseClientLibrary(const std::filesystem::path& binary,
                                                  CommandChoice* command);
std::string CommandProgramName(const CommandChoice& command);  // What profiles know it by.

// What a program is started with, as arguments and variables may say it: {threads}, {cores} (their
// numbers), {count} (of them), {steps}, {seed}, {job}.
struct CommandPlace {
  CpuSet cores;
  int threads = 1;
  int64_t steps = 0, job = -1;
  uint64_t seed = 1;
};
// With these words replaced; other braces stay.
std::string Expanded(std::string_view text, const CommandPlace& place);

}  // namespace cosched
