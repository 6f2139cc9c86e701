#pragma once
// Names in experiment files: they become folders and CSV cells. Pure.

#include <string>
#include <vector>

#include "experiments/config/toml_table.h"

namespace cosched {

bool IsName(const std::string& name);

// Key "name" of the table, required where there is no fallback. Throws InputError.
std::string ReadName(const TomlTable& table, const TomlTable::OptionalString& fallback);
std::string NameRange();  // What is allowed, for messages.

// No value of the list `key` may be there twice. Throws InputError.
void RefuseRepeated(const TomlTable& table, const std::string& key,
                    const std::vector<std::string>& values);

}  // namespace cosched
