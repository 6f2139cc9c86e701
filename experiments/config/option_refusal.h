#pragma once
// What a person is told whose option can't be: one InputError of the shape that every command's
// has. Called by the commands, and by what they hand options on to. Thread-safe.

#include <string>
#include <string_view>

namespace cosched {

// Such as ("--resume", "there is no run to go on with", "a folder with a run").
[[noreturn]] void RefuseOption(std::string_view option, std::string problem, std::string allowed);

// The problem is the value itself, quoted, or that there is none.
[[noreturn]] void RefuseValue(std::string_view option, std::string_view value, std::string allowed);

}  // namespace cosched
