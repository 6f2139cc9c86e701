#pragma once
// The one exception type for bad input: a file, an option or a value that a person gave us. Thrown
// anywhere, caught once in experiments/main.cc, which prints what() and exits with 2.

#include <stdexcept>
#include <string>

namespace cosched {

// Where the input is wrong and what would be right. Fields that do not apply stay empty (line 0).
struct InputErrorDetails {
  std::string file = {};     // the file the input came from, or "command line"
  int line = 0;              // 1-based
  std::string key = {};      // dotted config key, column or option
  std::string problem = {};  // what is wrong, with the offending value
  std::string allowed = {};  // what is allowed instead
};

class InputError : public std::runtime_error {
 public:
  // what() reads "file:line: key: problem; allowed: …", leaving out empty parts.
  explicit InputError(InputErrorDetails details);
  const InputErrorDetails& details() const { return details_; }

 private:
  InputErrorDetails details_;
};

// The machine failed us while we wrote results (full disk, lost folder): main exits with 1.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace cosched
