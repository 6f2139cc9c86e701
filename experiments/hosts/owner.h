#pragma once
// Whose a cgroup or a container is: both outlive their host if that is killed, and a later
// `cosched doctor --clean` must tell those of a host that is gone from those of one that runs. The
// start time is part of the name because process numbers are given again. Stateless.

#include <string>
#include <string_view>

namespace cosched {

std::string OwnerName();  // Of this process: "<pid>.<start time in kernel ticks>".
bool IsOwnerName(std::string_view name);
bool OwnerLives(std::string_view name);  // REQUIRES: IsOwnerName(name).

}  // namespace cosched
