#include "experiments/config/toml_document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace cosched {
namespace {

std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return parts;
}

std::optional<size_t> ParseIndex(std::string_view text) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return index;
}

const toml::node* Child(const toml::node& parent, const std::string& key) {
  if (const toml::table* table = parent.as_table()) return table->get(key);
  if (const toml::array* array = parent.as_array()) {
    const std::optional<size_t> index = ParseIndex(key);
    return index && *index < array->size() ? array->get(*index) : nullptr;
  }
  return nullptr;
}

std::string ReadFile(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw InputError(
        {.file = file, .problem = "is a folder", .allowed = "an experiment file (.toml)"});
  }
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf() || stream.peek() == EOF)) {
    throw InputError(
        {.file = file,
         .problem = fmt::format("can't be read: {}", std::generic_category().message(errno)),
         .allowed = "an experiment file (.toml)"});
  }
  return text.str();
}

toml::table Parse(const std::filesystem::path& file) {
  const std::string text = ReadFile(file);
  try {
    return toml::parse(text, file.string());
  } catch (const toml::parse_error& error) {
    throw InputError({.file = file,
                      .line = static_cast<int>(error.source().begin.line),
                      .problem = fmt::format("not TOML: {}", error.description())});
  }
}

// The table that holds "value" as TOML, or as a string if it is none (`name=foo`).
toml::table ParseValue(const std::string& text) {
  try {
    toml::table table = toml::parse("value = " + text);
    if (table.size() == 1) return table;
  } catch (const toml::parse_error&) {
    // A bare word.
  }
  return toml::table{{"value", text}};
}

// What a table in a list is called by --set: its name, or its model where it has none.
std::string NameOf(const toml::node& element) {
  const toml::table* table = element.as_table();
  if (!table) return "";
  const auto name = (*table)["name"].value<std::string>();
  return name ? *name : (*table)["model"].value<std::string>().value_or("");
}

// Whether a dotted key can call one element so, and no other.
bool IsPlainAndAlone(const std::string& name, const toml::array* array) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_';
  });
  if (!array || name.empty() || !plain || ParseIndex(name)) return false;
  return std::count_if(array->begin(), array->end(),
                       [&name](const toml::node& element) { return NameOf(element) == name; }) == 1;
}

// Index of the element that `key` names: "0", or its name (a workload without a name goes by its
// model).
size_t FindElement(const toml::array& array, const std::string& key,
                   const std::string& override_key) {
  std::vector<std::string> names;
  for (size_t i = 0; i < array.size(); ++i) {
    names.push_back(NameOf(*array.get(i)));
    if (array.get(i)->is_table() && names.back() == key) return i;
  }
  if (const std::optional<size_t> index = ParseIndex(key); index && *index < array.size())
    return *index;
  throw InputError({.file = TomlDocument::kCommandLine,
                    .key = override_key,
                    .problem = fmt::format("there is no \"{}\" in this list", key),
                    .allowed = fmt::format("an index below {}, or one of: {}", array.size(),
                                           fmt::join(names, ", "))});
}

using KeyLines = TomlDocument::KeyLines;

void AddLines(const toml::node& node, const std::string& path, KeyLines* lines) {
  const auto below = [&path](std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  };
  lines->emplace(path, static_cast<int>(node.source().begin.line));
  if (const toml::table* table = node.as_table()) {
    for (const auto& [key, value] : *table) AddLines(value, below(key.str()), lines);
  } else if (const toml::array* array = node.as_array()) {
    for (size_t i = 0; i < array->size(); ++i)
      AddLines(*array->get(i), below(std::to_string(i)), lines);
  }
}

void AppendValue(const nlohmann::ordered_json& json, toml::array* array);

void Insert(const std::string& key, const nlohmann::ordered_json& json, toml::table* table) {
  if (json.is_object()) {
    toml::table inner;
    for (const auto& [name, value] : json.items()) Insert(name, value, &inner);
    table->insert(key, std::move(inner));
  } else if (json.is_array()) {
    toml::array inner;
    for (const auto& value : json) AppendValue(value, &inner);
    table->insert(key, std::move(inner));
  } else if (json.is_string()) {
    table->insert(key, json.get<std::string>());
  } else if (json.is_boolean()) {
    table->insert(key, json.get<bool>());
  } else if (json.is_number_integer()) {
    table->insert(key, json.get<int64_t>());
  } else if (json.is_number()) {
    table->insert(key, json.get<double>());
  }
}

void AppendValue(const nlohmann::ordered_json& json, toml::array* array) {
  toml::table one;
  Insert("value", json, &one);
  if (toml::node* value = one.get("value"))
    value->visit([array](auto& typed) { array->push_back(std::move(typed)); });
}

}  // namespace

TomlDocument TomlDocument::Load(const std::filesystem::path& file) {
  auto lines = std::make_shared<KeyLines>();
  toml::table root = Parse(file);
  AddLines(root, "", lines.get());
  return {.file = file, .root = std::move(root), .lines = std::move(lines), .overridden = {}};
}

TomlDocument TomlDocument::FromJson(const std::filesystem::path& file,
                                    const nlohmann::ordered_json& json) {
  TomlDocument document{
      .file = file, .root = {}, .lines = std::make_shared<KeyLines>(), .overridden = {}};
  for (const auto& [key, value] : json.items()) Insert(key, value, &document.root);
  return document;
}

const toml::node* TomlDocument::Find(std::string_view path) const {
  const toml::node* node = &root;
  for (const std::string& key : SplitPath(path)) {
    node = Child(*node, key);
    if (!node) return nullptr;
  }
  return node;
}

bool TomlDocument::Overridden(std::string_view path) const {
  return std::any_of(overridden.begin(), overridden.end(), [path](const std::string& key) {
    return path == key || (path.starts_with(key) && path[key.size()] == '.');
  });
}

int TomlDocument::Line(std::string_view path) const {
  while (!path.empty()) {
    if (const auto known = lines->find(path); known != lines->end()) return known->second;
    const size_t dot = path.rfind('.');
    path = dot == std::string_view::npos ? "" : path.substr(0, dot);
  }
  return 0;
}

// The path with names in place of indices, where these tell the elements apart.
std::string TomlDocument::Named(std::string_view path) const {
  std::string named;
  const toml::node* node = &root;
  for (const std::string& key : SplitPath(path)) {
    const toml::node* child = node ? Child(*node, key) : nullptr;
    const toml::array* array = node ? node->as_array() : nullptr;
    const std::string name = array && child ? NameOf(*child) : "";
    named += (named.empty() ? "" : ".") + (IsPlainAndAlone(name, array) ? name : key);
    node = child;
  }
  return named;
}

void TomlDocument::Override(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  const std::string key = assignment.substr(0, equals);
  const auto fail = [&key](const std::string& problem) {
    throw InputError({.file = TomlDocument::kCommandLine,
                      .key = key,
                      .problem = problem,
                      .allowed = "--set DOTTED.KEY=VALUE"});
  };
  if (equals == std::string::npos) fail("has no value");
  std::vector<std::string> parts = SplitPath(key);
  if (parts.empty() || std::count(parts.begin(), parts.end(), "")) fail("is not a dotted key");

  toml::node* node = &root;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (toml::table* table = node->as_table()) {
      if (!table->contains(parts[i])) table->insert(parts[i], toml::table{});
      node = table->get(parts[i]);
    } else if (toml::array* array = node->as_array()) {
      const size_t index = FindElement(*array, parts[i], key);
      parts[i] = std::to_string(index);
      node = array->get(index);
    }
  }
  toml::table* table = node->as_table();
  if (!table) fail("is inside of something that is not a table; set the whole of it");
  toml::table value = ParseValue(assignment.substr(equals + 1));
  value.get("value")->visit(
      [&](auto& typed) { table->insert_or_assign(parts.back(), std::move(typed)); });
  overridden.insert(fmt::format("{}", fmt::join(parts, ".")));
}

}  // namespace cosched
