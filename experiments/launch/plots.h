#pragma once
// The way from the command to the plot scripts: which python draws, where the scripts are, and
// running them.

#include <filesystem>
#include <string>
#include <vector>

namespace cosched {

// The first python that can import matplotlib and pandas: $COSCHED_PYTHON, /usr/bin/python3,
// python3. Empty if there is none.
std::string FindPython();
// $COSCHED_PYTHON where it is set, else the rest of the list above.
std::vector<std::string> PythonCandidates();
bool CanDraw(const std::string& python);

// A file or folder of the source tree, "plots/load.py": of an installed binary in share/cosched beside
// its folder; else in the tree that it was built from, or beside the binary. Empty if there is none.
std::filesystem::path FindTreeFile(const std::string& path);

// Whether this binary is an installed one, with its tree in share/cosched.
bool IsInstalled();

// Runs plots/plot_all.py on a run; on a sweep that of its figure, plots/<experiment>.py, or
// plots/sweep.py if it is none; it prints the paths of what it drew. False, with the reason on
// stderr, if it can't or fails.
bool DrawPlots(const std::filesystem::path& run);

// The same with plots/<script>.py.
bool DrawWith(const std::string& script, const std::filesystem::path& run);

// Runs plots/<script>.py with these arguments; it prints the paths of what it drew. False, with the
// reason on stderr, if it can't or fails.
bool RunPlotScript(const std::string& script, const std::vector<std::string>& arguments);

}  // namespace cosched
