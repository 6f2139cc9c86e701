#include "experiments/cli/json_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/base/error.h"

namespace cosched {

CLI::Option* AddJsonFlag(CLI::App* command, bool* json, const std::string& schema) {
  return command->add_flag(
      "--json", *json,
      fmt::format("Print one JSON document in place of text, as experiments/schemas/{}.json "
                  "describes it",
                  schema));
}

JsonOutput::JsonOutput(bool wanted) {
  if (!wanted) return;
  std::fflush(stdout);
  output_ = UniqueFd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (output_.get() < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw OutputError("--json: standard output can't be set aside: " +
                      std::generic_category().message(errno));
}

JsonOutput::~JsonOutput() { Restore(); }

void JsonOutput::Restore() {
  if (output_.get() < 0) return;
  std::fflush(stdout);
  dup2(output_.get(), STDOUT_FILENO);
  output_ = UniqueFd();
}

void JsonOutput::Print(const nlohmann::ordered_json& document) {
  Restore();
  fmt::print("{}\n",
             document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

bool AsksForJson(const CLI::App& app) {
  const CLI::Option* json = app.get_option_no_throw("--json");
  if (json != nullptr && json->count() > 0) return true;
  for (const CLI::App* command : app.get_subcommands()) {
    if (AsksForJson(*command)) return true;
  }
  return false;
}

nlohmann::ordered_json ErrorJson(const std::exception& error, int exit_code) {
  nlohmann::ordered_json json = {{"schema", "cosched-error"},
                                 {"version", 1},
                                 {"exit", exit_code},
                                 {"message", error.what()},
                                 {"file", nullptr},
                                 {"line", nullptr},
                                 {"key", nullptr},
                                 {"problem", nullptr},
                                 {"allowed", nullptr}};
  const auto* const input = dynamic_cast<const InputError*>(&error);
  if (input == nullptr) return json;
  const InputErrorDetails& details = input->details();
  const auto set = [&json](const char* member, const std::string& text) {
    if (!text.empty()) json[member] = text;
  };
  set("file", details.file);
  if (details.line > 0) json["line"] = details.line;
  set("key", details.key);
  set("problem", details.problem);
  set("allowed", details.allowed);
  return json;
}

}  // namespace cosched
