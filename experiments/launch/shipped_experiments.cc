#include "experiments/launch/shipped_experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "engine/base/did_you_mean.h"
#include "experiments/config/option_refusal.h"
#include "experiments/config/toml_table.h"
#include "experiments/launch/plots.h"

namespace cosched {
namespace {

// A specification of a trace has none.
bool HasWorkload(const std::filesystem::path& file) {
  return TomlTable::Load(file, {}).Has("workload");
}

// Of the comment that the file begins with.
std::string FirstSentence(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string text;
  for (std::string line; std::getline(stream, line) && line.starts_with("# ");) {
    text += (text.empty() ? "" : " ") + line.substr(2);
    if (const size_t end = text.find(". "); end != std::string::npos) return text.substr(0, end);
    if (text.ends_with('.')) return text.substr(0, text.size() - 1);
  }
  return text;
}

}  // namespace

std::vector<ShippedExperiment> ShippedExperiments() {
  std::vector<ShippedExperiment> shipped;
  std::error_code ignored;
  for (const char* folder : {"experiments", "experiments/examples"}) {
    for (const auto& entry : std::filesystem::directory_iterator(FindTreeFile(folder), ignored)) {
      const std::filesystem::path& file = entry.path();
      if (file.extension() != ".toml" || !HasWorkload(file)) continue;
      shipped.push_back({file.stem().string(), file, FirstSentence(file)});
    }
  }
  std::ranges::sort(shipped, {}, &ShippedExperiment::name);
  return shipped;
}

std::filesystem::path ExperimentFile(const std::string& word) {
  const std::filesystem::path file = word;
  std::error_code ignored;
  if (word.empty() || file.extension() == ".toml" || file.has_parent_path() ||
      std::filesystem::exists(file, ignored))
    return file;
  std::string names;
  for (const ShippedExperiment& shipped : ShippedExperiments()) {
    if (shipped.name == word) return shipped.file;
    names += (names.empty() ? "" : ", ") + shipped.name;
  }
  RefuseOption(
      "experiment",
      fmt::format("there is no file and no experiment \"{}\"{}", word, DidYouMean(word, names)),
      "a .toml file, or a name of `cosched list experiments`");
}

}  // namespace cosched
