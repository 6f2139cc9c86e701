#pragma once
// Where a program is that this one starts. Stateless.

#include <string>

namespace cosched {

// Its file; "" = it is not installed. Looks also where a user's PATH does not: Debian's runc is in
// /usr/sbin.
std::string FindProgram(const std::string& name);

}  // namespace cosched
