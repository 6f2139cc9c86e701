#include "experiments/config/toml_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/did_you_mean.h"
#include "engine/base/error.h"
#include "experiments/config/toml_document.h"

namespace cosched {
namespace {

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

}  // namespace

TomlTable::TomlTable(std::shared_ptr<const TomlDocument> document, std::string path)
    : document_(std::move(document)), path_(std::move(path)) {}

TomlTable TomlTable::Load(const std::filesystem::path& file,
                          const std::vector<std::string>& overrides) {
  return TomlTable(std::make_shared<TomlDocument>(TomlDocument::Load(file)), "").With(overrides);
}

TomlTable TomlTable::FromJson(const std::filesystem::path& file,
                              const nlohmann::ordered_json& json) {
  return TomlTable(std::make_shared<TomlDocument>(TomlDocument::FromJson(file, json)), "");
}

TomlTable TomlTable::With(const std::vector<std::string>& overrides) const {
  auto document = std::make_shared<TomlDocument>(*document_);
  for (const std::string& override_text : overrides) document->Override(override_text);
  return TomlTable(std::move(document), "");
}

std::filesystem::path TomlTable::File() const { return document_->file; }
std::filesystem::path TomlTable::Folder() const {
  const std::filesystem::path folder = document_->file.parent_path();
  return folder.empty() ? "." : folder;
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

void TomlTable::AllowOnly(const std::vector<std::string>& keys) const {
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

size_t TomlTable::Word(std::string_view key, const std::vector<std::string>& words) const {
  const std::string text = String(key);
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    const std::string allowed = fmt::format("{}", fmt::join(words, ", "));
    Fail(key, fmt::format("is \"{}\"", text) + DidYouMean(text, allowed), allowed);
  }
  return static_cast<size_t>(found - words.begin());
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
  if (!node) RefuseQuoted(key);
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

bool TomlTable::IsString(std::string_view key) const {
  const toml::node* node = document_->Find(Path(key));
  return node && node->is_string();
}

bool TomlTable::IsTable(std::string_view key) const {
  const toml::node* node = document_->Find(Path(key));
  return node && node->is_table();
}

// Keys are found by their path, in which a dot stands between two.
void TomlTable::RefuseQuoted(std::string_view key) const {
  Fail("", fmt::format("holds the quoted key \"{}\"", key), "the key without quotes");
}

std::filesystem::path TomlTable::PathOf(std::string_view key) const {
  const std::string text = String(key);
  if (text.empty()) Fail(key, "is empty", "a path, relative to this file's folder");
  return std::filesystem::absolute(Folder() / text);
}

std::vector<std::string> TomlTable::Leaves() const {
  std::vector<std::string> leaves;
  for (const std::string& key : Keys()) {
    if (key.empty() || key.find('.') != std::string::npos) RefuseQuoted(key);
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
    throw InputError({.file = TomlDocument::kCommandLine,
                      .key = document_->Named(path),
                      .problem = problem,
                      .allowed = allowed});
  }
  throw InputError({.file = document_->file,
                    .line = document_->Line(path),
                    .key = document_->Named(path),
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
