#pragma once
// --no-deterministic, of all commands that compute with threads that come and go: SessionOptions'
// deterministic.

#include <CLI/CLI.hpp>

namespace cosched {

inline void AddDeterministicOption(CLI::App* command, bool* deterministic) {
  command->add_flag("!--no-deterministic", *deterministic,
                    "Divide the work for the threads of the moment instead of the most that there "
                    "may be: few of many are faster, and results differ in their last bits");
}

}  // namespace cosched
