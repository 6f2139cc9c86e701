#include "experiments/config/toml_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include "engine/base/did_you_mean.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr const char* kCommandLine = "command line";

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

std::string_view TypeName(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number";
    case toml::node_type::boolean: return "a boolean";
    default: return "a date or time";
  }
}

// The value as the user wrote it, for messages; tables and lists by their type only.
std::string Shown(const toml::node& node) {
  if (node.is_table() || node.is_array()) return std::string(TypeName(node));
  std::ostringstream text;
  if (const auto* string = node.as_string()) {
    text << '"' << string->get() << '"';
  } else {
    node.visit([&text](const auto& value) {
      if constexpr (toml::is_value<decltype(value)>) text << value;
    });
  }
  return text.str() + " (" + std::string(TypeName(node)) + ")";
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

// Index of the element that `key` names: "0", or its name (a workload without a name goes by its
// model).
size_t FindElement(const toml::array& array, const std::string& key,
                   const std::string& override_key) {
  std::vector<std::string> names;
  for (size_t i = 0; i < array.size(); ++i) {
    const toml::table* element = array.get(i)->as_table();
    const auto name = element ? (*element)["name"].value<std::string>() : std::nullopt;
    const auto model = element ? (*element)["model"].value<std::string>() : std::nullopt;
    names.push_back(name ? *name : model.value_or(""));
    if (element && names.back() == key) return i;
  }
  if (const std::optional<size_t> index = ParseIndex(key); index && *index < array.size())
    return *index;
  throw InputError({.file = kCommandLine,
                    .key = override_key,
                    .problem = fmt::format("there is no \"{}\" in this list", key),
                    .allowed = fmt::format("an index below {}, or one of: {}", array.size(),
                                           fmt::join(names, ", "))});
}

}  // namespace

struct TomlTable::Document {
  std::filesystem::path file;
  toml::table root;
  std::set<std::string, std::less<>> overridden;  // Dotted keys, elements of lists by index.

  const toml::node* Find(std::string_view path) const {
    const toml::node* node = &root;
    for (const std::string& key : SplitPath(path)) {
      node = Child(*node, key);
      if (!node) return nullptr;
    }
    return node;
  }

  bool Overridden(std::string_view path) const {
    return std::any_of(overridden.begin(), overridden.end(), [path](const std::string& key) {
      return path == key || (path.starts_with(key) && path[key.size()] == '.');
    });
  }

  int Line(std::string_view path) const {
    while (!path.empty()) {
      if (const toml::node* node = Find(path)) return static_cast<int>(node->source().begin.line);
      const size_t dot = path.rfind('.');
      path = dot == std::string_view::npos ? "" : path.substr(0, dot);
    }
    return 0;
  }

  void Override(const std::string& assignment);
};

void TomlTable::Document::Override(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  const std::string key = assignment.substr(0, equals);
  const auto fail = [&key](const std::string& problem) {
    throw InputError({.file = kCommandLine,
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

TomlTable::TomlTable(std::shared_ptr<const Document> document, std::string path)
    : document_(std::move(document)), path_(std::move(path)) {}

TomlTable TomlTable::Load(const std::filesystem::path& file,
                          const std::vector<std::string>& overrides) {
  auto document = std::make_shared<Document>();
  document->file = file;
  document->root = Parse(file);
  for (const std::string& override_text : overrides) document->Override(override_text);
  return TomlTable(std::move(document), "");
}

std::string TomlTable::Path(std::string_view key) const {
  if (path_.empty()) return std::string(key);
  return key.empty() ? path_ : fmt::format("{}.{}", path_, key);
}

bool TomlTable::Has(std::string_view key) const { return document_->Find(Path(key)) != nullptr; }

std::vector<std::string> TomlTable::Keys() const {
  std::vector<std::string> keys;
  const toml::node* node = document_->Find(path_);
  if (const toml::table* table = node ? node->as_table() : nullptr) {
    for (const auto& [key, value] : *table) keys.emplace_back(key.str());
  }
  return keys;
}

void TomlTable::AllowOnly(std::initializer_list<std::string_view> keys) const {
  const std::string allowed = fmt::format("{}", fmt::join(keys, ", "));
  for (const std::string& key : Keys()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      Fail(key, "unknown key" + DidYouMean(key, allowed), allowed);
  }
}

std::string TomlTable::String(std::string_view key, const OptionalString& fallback) const {
  const toml::node* node = document_->Find(Path(key));
  if (!node && fallback) return *fallback;
  if (!node) Required(key, "a string");
  if (!node->is_string()) Fail(key, fmt::format("is {}", Shown(*node)), "a string");
  return node->as_string()->get();
}

int64_t TomlTable::Integer(std::string_view key, std::optional<int64_t> fallback, int64_t min,
                           int64_t max) const {
  const std::string allowed = fmt::format("an integer from {} to {}", min, max);
  const toml::node* node = document_->Find(Path(key));
  if (!node && fallback) return *fallback;
  if (!node) Required(key, allowed);
  const auto* value = node->as_integer();
  if (!value || value->get() < min || value->get() > max)
    Fail(key, fmt::format("is {}", Shown(*node)), allowed);
  return value->get();
}

bool TomlTable::Boolean(std::string_view key, bool fallback) const {
  const toml::node* node = document_->Find(Path(key));
  if (!node) return fallback;
  if (!node->is_boolean()) Fail(key, fmt::format("is {}", Shown(*node)), "true or false");
  return node->as_boolean()->get();
}

double TomlTable::Number(std::string_view key, std::optional<double> fallback, double min,
                         double max) const {
  const std::string allowed = fmt::format("a number from {} to {}", min, max);
  const toml::node* node = document_->Find(Path(key));
  if (!node && fallback) return *fallback;
  if (!node) Required(key, allowed);
  const std::optional<double> value = node->is_number() ? node->value<double>() : std::nullopt;
  if (!value || !(*value >= min && *value <= max))
    Fail(key, fmt::format("is {}", Shown(*node)), allowed);
  return *value;
}

std::vector<std::string> TomlTable::Strings(
    std::string_view key, const std::optional<std::vector<std::string>>& fallback) const {
  constexpr const char* kAllowed = "a list of strings";
  const toml::node* node = document_->Find(Path(key));
  if (!node && fallback) return *fallback;
  if (!node) Required(key, kAllowed);
  const toml::array* array = node->as_array();
  if (!array) Fail(key, fmt::format("is {}", Shown(*node)), kAllowed);
  std::vector<std::string> strings;
  for (size_t i = 0; i < array->size(); ++i) {
    const auto* string = array->get(i)->as_string();
    if (!string)
      Fail(fmt::format("{}.{}", key, i), fmt::format("is {}", Shown(*array->get(i))), "a string");
    strings.push_back(string->get());
  }
  return strings;
}

std::string TomlTable::ScalarText(std::string_view key) const {
  const toml::node* node = document_->Find(Path(key));
  if (node->is_table() || node->is_array()) {
    Fail(key, fmt::format("is {}", TypeName(*node)), "a string, a number or a boolean");
  }
  if (const auto* string = node->as_string()) return string->get();
  if (const auto* boolean = node->as_boolean()) return boolean->get() ? "true" : "false";
  if (const auto* number = node->as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* integer = node->as_integer()) return fmt::format("{}", integer->get());
  Fail(key, fmt::format("is {}", TypeName(*node)), "a string, a number or a boolean");
}

TomlTable TomlTable::Table(std::string_view key, std::string_view shape) const {
  const toml::node* node = document_->Find(Path(key));
  if (node && !node->is_table()) {
    Fail(key, fmt::format("is {}", Shown(*node)),
         shape.empty() ? fmt::format("a table, [{}]", Path(key))
                       : fmt::format("a table such as {}", shape));
  }
  return TomlTable(document_, Path(key));
}

std::vector<TomlTable> TomlTable::Tables(std::string_view key) const {
  std::vector<TomlTable> tables;
  const toml::node* node = document_->Find(Path(key));
  if (!node) return tables;
  const std::string allowed = fmt::format("tables, each headed [[{}]]", Path(key));
  const toml::array* array = node->as_array();
  if (!array) Fail(key, fmt::format("is {}", Shown(*node)), allowed);
  for (size_t i = 0; i < array->size(); ++i) {
    const std::string element = fmt::format("{}.{}", key, i);
    if (!array->get(i)->is_table())
      Fail(element, fmt::format("is {}", Shown(*array->get(i))), allowed);
    tables.push_back(TomlTable(document_, Path(element)));
  }
  return tables;
}

bool TomlTable::IsInteger(std::string_view key) const {
  const toml::node* node = document_->Find(Path(key));
  return node && node->is_integer();
}

bool TomlTable::IsTable(std::string_view key) const {
  const toml::node* node = document_->Find(Path(key));
  return node && node->is_table();
}

std::vector<std::string> TomlTable::Leaves() const {
  std::vector<std::string> leaves;
  for (const std::string& key : Keys()) {
    if (key.find('.') != std::string::npos)
      Fail("", fmt::format("holds the quoted key \"{}\"", key), "the key without quotes");
    if (!IsTable(key)) {
      leaves.push_back(key);
      continue;
    }
    for (const std::string& leaf : Table(key).Leaves())
      leaves.push_back(fmt::format("{}.{}", key, leaf));
  }
  return leaves;
}

size_t TomlTable::Size(std::string_view key) const {
  const toml::node* node = document_->Find(Path(key));
  if (!node) Required(key, "a list");
  if (!node->is_array()) Fail(key, fmt::format("is {}", Shown(*node)), "a list");
  return node->as_array()->size();
}

std::string TomlTable::TomlText(std::string_view key) const {
  std::ostringstream text;
  text << toml::toml_formatter{*document_->Find(Path(key))};
  return text.str();
}

void TomlTable::Fail(std::string_view key, const std::string& problem,
                     const std::string& allowed) const {
  const std::string path = Path(key);
  if (document_->Overridden(path)) {
    throw InputError({.file = kCommandLine, .key = path, .problem = problem, .allowed = allowed});
  }
  throw InputError({.file = document_->file,
                    .line = document_->Line(path),
                    .key = path,
                    .problem = problem,
                    .allowed = allowed});
}

void TomlTable::BlameFile(std::string_view key, const InputError& error) const {
  const InputErrorDetails& details = error.details();
  const bool of_the_whole = !details.file.empty() && details.line == 0 && details.key.empty();
  if (of_the_whole) Fail(key, details.file + ": " + details.problem, details.allowed);
}

void TomlTable::Required(std::string_view key, const std::string& allowed) const {
  Fail(key, "is required", allowed);
}

}  // namespace cosched
