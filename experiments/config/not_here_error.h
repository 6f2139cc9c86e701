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

}  // namespace cosched
