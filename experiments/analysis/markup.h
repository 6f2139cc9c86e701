#pragma once
// Text within HTML or XML. Pure.

#include <string>
#include <string_view>

namespace cosched {

// As text or in a quoted attribute. What XML has no way to say (control characters) is left out.
std::string EscapedMarkup(std::string_view text);

}  // namespace cosched
