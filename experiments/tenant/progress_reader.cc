#include "experiments/tenant/progress_reader.h"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace cosched {
namespace {

std::optional<int64_t> NumberAtBegin(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && value >= 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

void OutputProgress::Take(std::string_view text) {
  for (const char character : text) {
    if (character == '\n' || character == '\r') {
      TakeLine();
    } else if (line_.size() < kLongestLine) {
      line_ += character;
    }
  }
}

void OutputProgress::End() { TakeLine(); }

void OutputProgress::TakeLine() {
  std::smatch found;
  if (!line_.empty() && std::regex_search(line_, found, expression_)) {
    if (found.size() == 1) {
      ++steps_;
    } else if (const auto steps = NumberAtBegin(found[1].str())) {
      steps_ = std::max(steps_, *steps);
    }
  }
  line_.clear();
}

std::optional<int64_t> StepsInFile(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  return std::getline(stream, line) ? NumberAtBegin(line) : std::nullopt;
}

}  // namespace cosched
