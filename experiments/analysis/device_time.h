#pragma once
// Time that the slots of a cell's modelled devices were held, from its devices.csv. Reads files
// only; called by metrics.cc.

#include <filesystem>
#include <optional>

namespace cosched {

// Slot-seconds of all devices together; nullopt where none was held. Throws InputError naming file
// and line of what is malformed.
std::optional<double> DeviceSeconds(const std::filesystem::path& cell);

}  // namespace cosched
