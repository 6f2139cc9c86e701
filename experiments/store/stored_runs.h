#pragma once
// The runs below a results folder: what ran when, on which machine and commit, and how it ended.
// Reads files only; called by `cosched runs`.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cosched {

struct StoredRun {
  std::filesystem::path path;
  std::string experiment = {};
  std::string started = {};   // "2026-11-28T09:35:40Z"; "" as below.
  std::string finished = {};  // "": it is not over, or its manifest does not say.
  // "done", "failed", "running", "stopped": not over, and nobody runs it, or "damaged": its manifest
  // can't be read, and nothing else is known.
  std::string status = {};
  std::string backend = {};
  std::string cpu = {};
  int cores = 0;            // Of the machine, that cosched might use.
  std::string commit = {};  // Ten letters of it, and "+" if the tree had changes.
  std::string command_line = {};
  int cells = 0;      // Planned, of all points.
  int done = 0;       // With whole records.
  int failed = 0;     // That say so of themselves.
  int64_t bytes = 0;  // On the disk, plots too.
};

// Of one run's folder. Throws InputError if it has no manifest of cosched's that can be read.
StoredRun ReadStoredRun(const std::filesystem::path& run);

// All below `results`, the latest first.
std::vector<StoredRun> StoredRuns(const std::filesystem::path& results);

// As experiments/schemas/runs.schema.json has it.
nlohmann::ordered_json StoredRunJson(const StoredRun& run);

}  // namespace cosched
