#include "experiments/config/not_here_error.h"

#include "experiments/config/toml_table.h"

namespace cosched {

void FailHere(const TomlTable& table, std::string_view key, const std::string& problem,
              const std::string& allowed) {
  try {
    table.Fail(key, problem, allowed);
  } catch (const InputError& error) {
    throw NotHereError(error.details());
  }
}

void FailOfMachine(bool is_here, const TomlTable& table, std::string_view key,
                   const std::string& problem, const std::string& allowed) {
  if (is_here) FailHere(table, key, problem, allowed);
  table.Fail(key, problem, allowed);
}

}  // namespace cosched
