#include "experiments/config/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace cosched {
namespace {

constexpr int kMaxNameLength = 100;

}  // namespace

std::string NameRange() {
  return fmt::format("1 to {} letters, digits, '-', '_' and '.', the first not a '.'",
                     kMaxNameLength);
}

bool IsName(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  return !name.empty() && name.size() <= kMaxNameLength && name.front() != '.' && plain;
}

std::string ReadName(const TomlTable& table, const TomlTable::OptionalString& fallback) {
  std::string name = table.String("name", fallback);
  if (!IsName(name)) table.Fail("name", fmt::format("is \"{}\"", name), NameRange());
  return name;
}

void RefuseRepeated(const TomlTable& table, const std::string& key,
                    const std::vector<std::string>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::find(values.begin(), values.begin() + i, values[i]) != values.begin() + i) {
      table.Fail(fmt::format("{}.{}", key, i), fmt::format("\"{}\" is listed twice", values[i]),
                 "each once");
    }
  }
}

}  // namespace cosched
