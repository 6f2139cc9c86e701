#include "experiments/cli/list_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/word_wrap.h"

namespace cosched {

std::string ListTableText(const std::vector<ListRow>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const ListRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const ListRow& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) text += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += row.back() + "\n";
  }
  return text;
}

std::string WrappedTableText(const std::vector<ListRow>& rows, const std::vector<size_t>& most) {
  std::vector<size_t> widths(most.size());
  for (const ListRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::min(most[i], std::max(widths[i], row[i].size()));
  }
  std::string table;
  for (const ListRow& row : rows) {
    std::vector<std::vector<std::string>> cells;
    size_t lines = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      cells.push_back(WordsInLines(row[i], widths[i]));
      lines = std::max(lines, cells.back().size());
    }
    for (size_t line = 0; line < lines; ++line) {
      std::string text = "  ";
      for (size_t i = 0; i < cells.size(); ++i)
        text += fmt::format("{:<{}}  ", line < cells[i].size() ? cells[i][line] : "", widths[i]);
      text.erase(text.find_last_not_of(' ') + 1);
      table += text + "\n";
    }
  }
  return table;
}

}  // namespace cosched
