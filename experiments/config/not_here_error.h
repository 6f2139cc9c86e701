#pragma once
// Input that is right, and that this machine can't follow: it lacks rights, programs or cores. Thrown
// where experiments are read, on any thread; `cosched reproduce` leaves such figures out, all others
// treat it as bad input.

#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace cosched {

class TomlTable;

class NotHereError : public InputError {
 public:
  using InputError::InputError;
};

// TomlTable::Fail() with such an error.
[[noreturn]] void FailHere(const TomlTable& table, std::string_view key, const std::string& problem,
                           const std::string& allowed);

// The same where the machine is this one; what a machine that the file itself describes lacks is the
// file's mistake, Fail()'s.
[[noreturn]] void FailOfMachine(bool is_here, const TomlTable& table, std::string_view key,
                                const std::string& problem, const std::string& allowed);

}  // namespace cosched
