#pragma once
// What a person who mistyped a name may have meant. Called where a name is refused. Thread-safe.

#include <string>
#include <string_view>

namespace cosched {

// `, did you mean "strict"?`, to go behind what is said of the name; "" where none of the known names
// is like it: two neighbours exchanged or one character in three wrong, missing or too many. known:
// parted by ", ".
std::string DidYouMean(std::string_view name, std::string_view known);

}  // namespace cosched
