#pragma once
// How the kernel describes this machine's CPU (/proc/cpuinfo). Called where a result has to say on
// which CPU it was measured. Thread-safe.

#include <istream>
#include <map>
#include <string>

namespace cosched {

// The first CPU's lines by their keys, such as "model name" and "cpu family" on x86 or "CPU part"
// on Arm. Empty where there is no such file.
std::map<std::string, std::string> ReadCpuDescription(std::istream& cpuinfo);
std::map<std::string, std::string> ThisCpuDescription();

// "model name"; "unknown" where the kernel tells none, as on Arm.
std::string ThisCpuModel();

}  // namespace cosched
