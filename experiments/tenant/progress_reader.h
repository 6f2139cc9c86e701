#pragma once
// How many steps a program of somebody else's has done, by what it prints or by a file that it
// writes (experiments/wire/command_choice.h). Called by the tenant that runs it, on its main thread.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "experiments/wire/command_choice.h"

namespace cosched {

// Lines of one stream of output, in any pieces.
class OutputProgress {
 public:
  // REQUIRES: an expression.
  explicit OutputProgress(const std::string& expression) : expression_(expression) {}

  // All that has come; a line is looked at once it is whole. Of one longer than kLongestLine only so
  // much is. A carriage return ends a line, too: progress bars are drawn with it.
  static constexpr size_t kLongestLine = 2000;
  void Take(std::string_view text);
  void End();  // Nothing more comes.
  int64_t Steps() const { return steps_; }

 private:
  void TakeLine();

  const std::regex expression_;
  std::string line_;
  int64_t steps_ = 0;
};

// The number that the file begins with; nullopt if there is none (yet).
std::optional<int64_t> StepsInFile(const std::filesystem::path& file);

}  // namespace cosched
