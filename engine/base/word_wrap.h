#pragma once
// Text broken at words, for terminals, tables and manual pages. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cosched {

// The text's words in lines of at most `width` characters, one line at least; a longer word has a
// line of its own.
std::vector<std::string> WordsInLines(std::string_view text, size_t width);

}  // namespace cosched
