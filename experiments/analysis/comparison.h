#pragma once
// Compares policies over the cells of one or more runs: each policy against the best or a named
// one, medians with intervals, malleable tenants against others, and what is worth a warning. Used
// by `cosched compare` and at the end of `cosched run`. Pure but for reading files.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/analysis/gates.h"

namespace cosched {

struct ComparisonOptions {
  std::string baseline = "";    // A policy; "" = the experiment's `baseline`, or the best.
  bool pool = false;            // Runs are one experiment even where they differ.
  bool exclude_marked = false;  // Marked cells count as if they were not there.
  bool explain = false;         // With a glossary of the columns.
  bool detail = false;          // With what the kernel counted.
};

struct ComparisonReport {
  std::string text;                // Ready for stdout.
  bool damaged = false;            // Records are missing or can't be read; the text says which.
  std::vector<JudgedGates> gates;  // A member a side; not in the text.
};

// Runs of one experiment (same configuration, machine, binary and backend) whose traces differ are
// pooled: their cells count as further trials. Others stand side by side, with the ratios of each
// to the first. Throws InputError if a run holds no whole cell, or the baseline is no policy.
ComparisonReport CompareRuns(const std::vector<std::filesystem::path>& runs,
                             const ComparisonOptions& options);

// One run's table, with the defaults.
std::string ComparisonTable(const std::filesystem::path& run);

}  // namespace cosched
