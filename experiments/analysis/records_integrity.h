#pragma once
// Whether a run's records are all there and can be read, held against its manifest: cells that were
// planned, files that [records] says are written, a row for every job. Used by `cosched compare`
// and by whoever is about to say that records are whole. Reads files only.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/analysis/comparison_runs.h"

namespace cosched {

struct RecordsIntegrity {
  std::vector<std::string> damages;  // Each names what is wrong, and where.
  std::string unfinished;            // The run was interrupted, or goes on; empty: it is over.
};
RecordsIntegrity CheckRecords(const ComparedRun& run);
// The same of a run folder with all its points.
RecordsIntegrity CheckRecords(const std::filesystem::path& run);

}  // namespace cosched
