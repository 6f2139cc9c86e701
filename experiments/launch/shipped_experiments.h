#pragma once
// The experiment files that come with cosched, by name, so that `cosched run quickstart` works
// wherever it is installed. Called by commands. Stateless: reads folders anew at each call.

#include <filesystem>
#include <string>
#include <vector>

namespace cosched {

struct ShippedExperiment {
  std::string name;  // "quickstart"
  std::filesystem::path file;
  std::string about;  // The first sentence of the file's comment.
};

// By name; none where neither the source tree nor an installation's files are there.
std::vector<ShippedExperiment> ShippedExperiments();

// What a person means by a word: a file as it is given, or else the name of a shipped experiment.
// A word with a folder or with ".toml" is always a file, whether it is there or not. Throws
// InputError (option: experiment) for a name that there is not.
std::filesystem::path ExperimentFile(const std::string& word);

}  // namespace cosched
