#pragma once
// The tree behind TomlTable: a TOML file (or what a record says in its place) with its overrides,
// and where each key of it stands. Made by TomlTable alone, which reads it; a value, not changed
// once a TomlTable holds it.

#include <toml++/toml.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

namespace cosched {

struct TomlDocument {
  static constexpr const char* kCommandLine = "command line";  // Whose fault an override is.
  // Dotted keys with the lines at which they stand.
  using KeyLines = std::map<std::string, int, std::less<>>;

  std::filesystem::path file;
  toml::table root;
  // Kept apart from the nodes: a copy of a node does not know where it stood.
  std::shared_ptr<const KeyLines> lines;
  std::set<std::string, std::less<>> overridden;  // Dotted keys, elements of lists by index.

  // Throws InputError if it can't be read or is no TOML.
  static TomlDocument Load(const std::filesystem::path& file);
  static TomlDocument FromJson(const std::filesystem::path& file,
                               const nlohmann::ordered_json& json);

  const toml::node* Find(std::string_view path) const;  // Null if there is none.
  bool Overridden(std::string_view path) const;
  int Line(std::string_view path) const;  // That of the nearest table around it; 0 = unknown.
  // The path with names in place of indices, where these tell the elements apart.
  std::string Named(std::string_view path) const;
  // "dotted.key=value". Throws InputError.
  void Override(const std::string& assignment);
};

}  // namespace cosched
