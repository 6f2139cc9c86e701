#pragma once
// What a command prints with --json: one JSON document, and nothing beside it on standard output,
// whatever else is told meanwhile. Called by the commands that have the option, and by main, which
// tells errors. On the main thread, one at a time: the process has one standard output.

#include <CLI/App.hpp>
#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/base/unique_fd.h"

namespace cosched {

// --json of a command; schema: the file's stem in experiments/schemas/, "run.schema". The option
// can be made to exclude others.
CLI::Option* AddJsonFlag(CLI::App* command, bool* json, const std::string& schema);

// While it lives, what this process and those that it starts print goes to standard error instead.
// With `wanted` false it does nothing.
class JsonOutput {
 public:
  explicit JsonOutput(bool wanted);
  ~JsonOutput();
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;

  // To standard output; the last that is done with it. Bytes that are no UTF-8 are replaced.
  void Print(const nlohmann::ordered_json& document);

 private:
  void Restore();

  UniqueFd output_;  // Standard output, while it is not in its place.
};

// Whether --json was given to the command that `app` has read, as far as it could be read.
bool AsksForJson(const CLI::App& app);

// The document in place of a command's own (experiments/schemas/error.schema.json).
nlohmann::ordered_json ErrorJson(const std::exception& error, int exit_code);

}  // namespace cosched
