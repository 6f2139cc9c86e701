#pragma once
// For fuzzers of several formats, one a run: which it is, where seeds go, and how a broken promise
// ends. Each program has one of these.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace cosched {

struct FormatOption {
  std::string format;  // --format=NAME
  std::string seeds;   // --write-seeds=FOLDER, in place of fuzzing; "" if not given.
};
inline FormatOption format_option;  // Set once, before the first input.

// Ends the program if the format is not one that is_known(format).
template <typename IsKnown>
void ReadFormatOption(int count, char** arguments, IsKnown is_known) {
  constexpr std::string_view kFormat = "--format=";  // libFuzzer leaves "--" to its target.
  constexpr std::string_view kSeeds = "--write-seeds=";
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument.starts_with(kFormat)) format_option.format = argument.substr(kFormat.size());
    if (argument.starts_with(kSeeds)) format_option.seeds = argument.substr(kSeeds.size());
  }
  if (is_known(format_option.format)) return;
  std::fprintf(stderr, "--format=%s: no such format\n", format_option.format.c_str());
  std::exit(1);
}

inline void Demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: broken promise: %s\n", format_option.format.c_str(), what);
  std::abort();
}

}  // namespace cosched
