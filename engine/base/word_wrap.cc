#include "engine/base/word_wrap.h"

#include <sstream>

namespace cosched {

std::vector<std::string> WordsInLines(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines;
}

}  // namespace cosched
