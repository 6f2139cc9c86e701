#pragma once
// A signal in words, for messages on how a process ended. Thread-safe.

#include <string>

namespace cosched {

std::string SignalText(int signal);  // "signal 9 (Killed)"; a real-time one has no name.

}  // namespace cosched
