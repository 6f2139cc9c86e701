#pragma once
// A place in a JSON file that is read strictly: what is missing, of the wrong type or out of range
// is an InputError that names the file and the place ("programs.0.law.kind"). Of this folder's
// files of measured figures (profile.h, device_profile.h). Thread-safe.

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/profile.h"

namespace cosched {

class JsonReader {
 public:
  // `value` outlives the reader and those made from it.
  JsonReader(std::string file, const nlohmann::json& value, std::string path = "")
      : file_(std::move(file)), value_(value), path_(std::move(path)) {}

  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed) const;

  bool Has(const std::string& key) const { return value_.is_object() && value_.contains(key); }
  // header: where the format is described.
  JsonReader At(const std::string& key, std::string_view header = "profile.h") const;
  std::vector<JsonReader> List() const;
  // Keys and values of an object.
  std::vector<std::pair<std::string, JsonReader>> Entries() const;
  // Any other key is an error.
  void Only(std::initializer_list<std::string_view> keys) const;

  bool IsNull() const { return value_.is_null(); }
  double Number(double min, double max = 1e9) const;
  int Integer(int min, int max) const;
  std::string String() const;
  bool Boolean() const;
  // Ascending quantiles in seconds.
  DelayQuantiles Delays() const;

 private:
  std::string file_;
  const nlohmann::json& value_;
  std::string path_;
};

// Throws InputError: not there, or not JSON. allowed: what should be there.
nlohmann::json ParseJson(const std::filesystem::path& file, const std::string& allowed);

}  // namespace cosched
