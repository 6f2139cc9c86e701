#pragma once
// Tables of text as `cosched list` prints them. Pure.

#include <cstddef>
#include <string>
#include <vector>

namespace cosched {

using ListRow = std::vector<std::string>;

// Columns as wide as their widest cell; the last one is left as it is. REQUIRES: a row.
std::string ListTableText(const std::vector<ListRow>& rows);

// Rows of which each cell is wrapped to the width of its column, which is at most `most`.
std::string WrappedTableText(const std::vector<ListRow>& rows, const std::vector<size_t>& most);

}  // namespace cosched
