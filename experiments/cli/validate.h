#pragma once
// `cosched validate`: the same traces on hardware and simulated, and how far they agree. `cosched
// diff`: where two records of the same jobs part.

#include <CLI/App.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cosched {

// As on the command line.
struct ValidateArguments {
  std::vector<std::string> experiments = {};
  std::string profile = {};
  std::vector<std::string> measured = {};
  std::vector<std::string> set = {};
  std::string trials = {};
  std::string seed = {};
  std::vector<std::string> max_error = {};
  std::vector<std::string> max_policy_error = {};
  std::optional<double> min_tau = {};
  std::optional<double> max_regret = {};
  std::string out = "results";
  bool again = false;
  bool quick = false;
  bool resume = false;  // What was interrupted is gone on with, where it can be.
  bool extrapolate = false;
  bool no_plots = false;
  bool force = false;
  bool json = false;
};

struct ValidationRun {
  int exit_code = 0;
  std::filesystem::path measured;  // The first experiment's folder; holds validation.json.
};

// Runs both worlds, prints how far they agree, and draws it. Throws InputError and OutputError.
ValidationRun RunValidation(const ValidateArguments& arguments);

void AddValidateCommand(CLI::App& app, int* exit_code);
void AddDiffCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
