#pragma once
// Text for a shell's command line. Pure.

#include <string>

namespace cosched {

// The text as one word, quoted where it must be.
std::string ShellQuoted(const std::string& text);

}  // namespace cosched
