#pragma once
// What a reader of a comparison must know besides its figures: few trials, cells that failed, lost
// jobs, were marked or left out, damaged and mixed records, doubts about a profile, treatments that
// ran early or late. Pure; used by whatever tells a comparison.

#include <string>
#include <vector>

#include "experiments/analysis/comparison_cells.h"

namespace cosched {

// Each once, these first.
std::vector<std::string> ComparisonNotes(const ComparedCells& cells,
                                         const std::vector<std::string>& first);
// The same as text, a star each; "" if there is none.
std::string ComparisonNotesText(const ComparedCells& cells, const std::vector<std::string>& first);

// Doubts about one run: mixed and redone records, its profile, an order of cells that favours a
// treatment.
std::vector<std::string> RunDoubts(const ComparedRun& run);

// "strict/rigid ran late": treatments whose mean places in the order of running (cells by name)
// differ by more than chance. Cells that ran in blocks of one trial are looked at within their
// blocks, because a drift from block to block hits all treatments alike; else by their places among
// all. Empty if nothing is to be said.
std::vector<std::string> OrderDoubts(const std::vector<std::string>& order);

}  // namespace cosched
