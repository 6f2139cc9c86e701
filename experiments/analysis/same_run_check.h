#pragma once
// The A/A check: two runs of the same thing, compared as two policies would be. Used by `cosched
// compare --aa`. Pure but for reading files.

#include <filesystem>
#include <string>

namespace cosched {

// Whether two runs of the same thing differ, as they must not: every policy, elasticity, makespan
// and mean turnaround, corrected for their number at 5 %. Throws InputError where the check proves
// nothing: other configurations or machines, copies, too few trials, a sweep.
struct SameRunCheck {
  std::string text;
  bool differs = false;
};
SameRunCheck CheckSameRuns(const std::filesystem::path& a, const std::filesystem::path& b,
                           bool exclude_marked);

}  // namespace cosched
