#include "engine/base/did_you_mean.h"

#include <algorithm>
#include <vector>

namespace cosched {
namespace {

// Edits that make one of the other: a character inserted, left out or replaced, or two neighbours
// exchanged (optimal string alignment).
size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> edits(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) edits[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) edits[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1,
                              edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits[a.size()][b.size()];
}

}  // namespace

std::string DidYouMean(std::string_view name, std::string_view known) {
  std::string_view best;
  size_t fewest = name.size() / 3 + 1;
  for (size_t begin = 0; begin < known.size();) {
    const size_t end = std::min(known.find(", ", begin), known.size());
    const std::string_view candidate = known.substr(begin, end - begin);
    const size_t edits = Edits(name, candidate);
    if (edits > 0 && edits < fewest) {
      fewest = edits;
      best = candidate;
    }
    begin = end + 2;
  }
  if (best.empty()) return "";
  return ", did you mean \"" + std::string(best) + "\"?";
}

}  // namespace cosched
