#include "workloads/json_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

#include "engine/base/error.h"

namespace cosched {
namespace {

using nlohmann::json;

std::string Below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

}  // namespace

void JsonReader::Fail(const std::string& problem, const std::string& allowed) const {
  throw InputError({.file = file_, .key = path_, .problem = problem, .allowed = allowed});
}

JsonReader JsonReader::At(const std::string& key, std::string_view header) const {
  if (!value_.is_object()) Fail("is not an object", "an object");
  const auto found = value_.find(key);
  if (found == value_.end())
    JsonReader(file_, value_, Below(path_, key)).Fail("is missing", fmt::format("see {}", header));
  return {file_, *found, Below(path_, key)};
}

std::vector<JsonReader> JsonReader::List() const {
  if (!value_.is_array()) Fail("is not a list", "a list");
  std::vector<JsonReader> items;
  for (size_t i = 0; i < value_.size(); ++i)
    items.emplace_back(file_, value_[i], fmt::format("{}.{}", path_, i));
  return items;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::Entries() const {
  if (!value_.is_object()) Fail("is not an object", "an object");
  std::vector<std::pair<std::string, JsonReader>> entries;
  for (const auto& [key, value] : value_.items())
    entries.emplace_back(key, JsonReader(file_, value, Below(path_, key)));
  return entries;
}

void JsonReader::Only(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : Entries()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      value.Fail("is no key of this file", fmt::format("{}", fmt::join(keys, ", ")));
  }
}

double JsonReader::Number(double min, double max) const {
  const bool fits =
      value_.is_number() && value_.get<double>() >= min && value_.get<double>() <= max;
  if (!fits) Fail("is " + value_.dump().substr(0, 60), fmt::format("a number, {} to {}", min, max));
  return value_.get<double>();
}

int JsonReader::Integer(int min, int max) const {
  const bool fits =
      value_.is_number_integer() && value_.get<int64_t>() >= min && value_.get<int64_t>() <= max;
  if (!fits)
    Fail("is " + value_.dump().substr(0, 60), fmt::format("a whole number, {} to {}", min, max));
  return value_.get<int>();
}

std::string JsonReader::String() const {
  if (!value_.is_string()) Fail("is not a string", "a string");
  return value_.get<std::string>();
}

bool JsonReader::Boolean() const {
  if (!value_.is_boolean()) Fail("is not a boolean", "true, false");
  return value_.get<bool>();
}

DelayQuantiles JsonReader::Delays() const {
  DelayQuantiles delays;
  for (const JsonReader& quantile : List()) {
    delays.push_back(quantile.Number(0));
    if (!std::is_sorted(delays.begin(), delays.end()))
      quantile.Fail("is below the one before it", "quantiles in ascending order");
  }
  return delays;
}

json ParseJson(const std::filesystem::path& file, const std::string& allowed) {
  std::ifstream stream(file);
  if (!stream) {
    throw InputError({.file = file.string(), .problem = "can't be opened", .allowed = allowed});
  }
  try {
    return json::parse(stream);
  } catch (const json::exception& error) {
    throw InputError({.file = file.string(),
                      .problem = fmt::format("is no JSON: {}", error.what()),
                      .allowed = allowed});
  }
}

}  // namespace cosched
