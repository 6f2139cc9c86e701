#pragma once
// Two runs of one experiment that are held against each other, by `cosched validate`.

#include <filesystem>

namespace cosched {

struct ValidationRuns {
  std::filesystem::path measured, simulated;
};

}  // namespace cosched
