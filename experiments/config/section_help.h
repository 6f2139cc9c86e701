#pragma once
// What `cosched list keys` tells of the sections of an experiment file. Plain data, from the lists
// that read them (experiments/config/section.h). Pure; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cosched {

struct KeyHelp {
  std::string name = {};
  std::string type = {};      // "integer", "number", "boolean", "word", "text", "list" or "table"
  std::string fallback = {};  // As TOML, or in words; "required"; "" = its value in a fresh struct.
  std::string range = {};     // "1 to 1000000", "on, off, halving"
  std::string meaning = {};
};

struct SectionHelp {
  std::string heading;  // As in a file: "[machine]", "[[workload]]"; "" = what stands above all.
  std::string about;
  std::vector<KeyHelp> keys;
};

// Every section, in the order of a file.
std::vector<SectionHelp> SectionsHelp();

// A value as it stands in a line of a TOML file; null entries are left out.
std::string InlineToml(const nlohmann::ordered_json& value);

std::string IntegerRange(int64_t min, int64_t max);  // "1 to 1000000"
std::string NumberRange(double min, double max);     // "0 to 1"
std::string WordsRange(const std::vector<std::string>& words);

}  // namespace cosched
