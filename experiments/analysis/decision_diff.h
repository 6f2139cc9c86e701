#pragma once
// Where two records of the same jobs part: the first decision of the policy that changed something
// and changed it differently, with what the policy knew on both sides. Used by `cosched diff` and
// `cosched validate`. Reads files only (decisions.csv, jobs.csv, steps.csv of a cell).

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cosched {

// A job as the policy saw it, by its earlier decisions and events.
struct SeenJob {
  std::string workload;
  std::string cores;  // "0-1"; "" = it waits, "pause" = paused.
  int64_t steps = 0;  // Done by then.
};

struct Decision {
  int64_t number = 0;
  double time_s = 0;
  std::string event;       // "job-arrived 3"
  std::string allocation;  // "3=0-1 2=pause"; never "".
};

struct DiffSide {
  std::optional<Decision> decision;  // Empty: it decided nothing more.
  std::map<int64_t, SeenJob> jobs;   // By id; those that had arrived and not ended.
};

struct DecisionDiff {
  int same = 0;  // Decisions before it that changed the same.
  DiffSide a, b;
};

// nullopt: they decided alike to the end. Decisions that changed nothing, and when and at which
// event one was taken, are no difference. Throws InputError: not the folder of a cell.
std::optional<DecisionDiff> FindFirstDifference(const std::filesystem::path& cell_a,
                                                const std::filesystem::path& cell_b);

// What the policy was told at its first decision at or after that time. Its `decision` is empty if
// there is none.
DiffSide ViewAt(const std::filesystem::path& cell, double time_s);

// Both sides beside each other, under these names.
std::string SidesText(const DiffSide& a, const DiffSide& b, const std::string& name_a,
                      const std::string& name_b);
// The same, with how far they were alike.
std::string DiffText(const DecisionDiff& diff, const std::string& name_a,
                     const std::string& name_b);

}  // namespace cosched
