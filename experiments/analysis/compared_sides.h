#pragma once
// The runs of a comparison, read and put into sides: those that are one experiment are pooled, others
// stand side by side. What `cosched compare`'s text, its JSON and `cosched report` are made of. Pure but
// for reading files.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/analysis/comparison.h"
#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/gates.h"

namespace cosched {

// Runs that are pooled, "A" if there are others beside them.
struct ComparedSide {
  ComparedCells cells;           // With its runs.
  std::vector<std::string> why;  // Not pooled with the first side.
};

struct Comparison {
  std::vector<std::string> copies;  // Runs that are left out, a sentence each.
  std::vector<ComparedSide> sides;
  std::vector<std::string> notes;  // On records and pooling, before those of the sides.
  bool damaged = false;            // Records are missing or can't be read; the notes say which.
};

// Throws InputError as CompareRuns.
Comparison ReadComparison(const std::vector<std::filesystem::path>& runs,
                          const ComparisonOptions& options);

std::string SideName(size_t index);                          // "A", "B", ….
std::string RunNames(const std::vector<ComparedRun>& runs);  // Their paths.

// "A and C are not pooled (--pool insists): trace.jobs: 40 in A, 20 in C". REQUIRES: index > 0.
std::string WhyNotPooledText(const Comparison& comparison, size_t index);

// Those of each side, by its runs.
std::vector<JudgedGates> GatesOfSides(const Comparison& comparison);

// The policy that was asked for, or else the one that the experiment names and that ran; "" = the best.
std::string BaselineOf(const ComparedCells& cells, const ComparisonOptions& options);

}  // namespace cosched
