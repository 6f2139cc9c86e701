#pragma once
// One experiment at many points: [sweep] lists values for dotted keys of the file, and every
// combination is a point, an experiment of its own with its own folder below the run's. [quick]
// holds the values that --quick sets instead. Pure but for reading the file; called by `cosched
// run` and `cosched reproduce`.
//
//   [sweep]
//   workload.resnet20.threads = [1, 2, 4]
//   machine.cores = [1, 2, 4, 8]   # what this machine is too small for is left out
//   case = [{ trace.jobs = 1, trials = 2 }, { trace.jobs = 9 }]   # a table sets several keys; its
//                                  # `label`, if it has one, names the point in place of them
//
//   [quick]
//   trials = 1
//   sweep.machine.cores = [1]

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "experiments/config/plan.h"
#include "experiments/config/toml_table.h"

namespace cosched {

struct SectionHelp;

struct SweepPoint {
  std::string name;  // The folder below the run's, "threads=2,cores=1"; "" = there is no sweep.
  std::vector<std::pair<std::string, std::string>> values;  // Dotted key, value as text.
  ExperimentConfig config;
  Plan plan;
};

struct SweepCell {
  size_t point = 0;  // Index.
  CellKey key;
};

struct Sweep {
  std::vector<SweepPoint> points;  // At least one; a file without [sweep] has exactly one.
  // In the order in which they run: trial by trial. Without a sweep the plan's; else each trial is
  // one block of all points' cells in a seeded random order.
  std::vector<SweepCell> cells;
  // "name: reason" of points that can't run here: too few cores, no containers, no permission
  // for an actuator, no library, or no file that the figure was to prepare.
  std::vector<std::string> left_out;
  // Names of simulated points with over 100,000 jobs in a trial, which leave out steps and samples
  // unless the file asks for them.
  std::vector<std::string> without_records;

  bool IsSwept() const { return !points.front().name.empty(); }
  const std::string& name() const { return points.front().config.name; }
};

// file: without overrides; these come after those of [quick]. Throws InputError.
Sweep LoadSweep(const TomlTable& file, const std::vector<std::string>& overrides, bool quick,
                const Topology& topology);
Sweep LoadSweep(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                bool quick, const Topology& topology);
// For `cosched list keys`.
SectionHelp SweepHelp();
SectionHelp QuickHelp();
// The file as it is or, with `quick`, with the values of its [quick]. Throws InputError if it has none.
TomlTable ChosenTable(const TomlTable& file, bool quick);
// The sweep that is this one experiment.
Sweep SinglePoint(const ExperimentConfig& config);

// LoadWorkloads() of each point, one behind the other, but for those that lack a library, or a file
// which the figure was to prepare. quick: with the values of [quick]. Throws InputError.
std::vector<WorkloadConfig> SweptWorkloads(const std::filesystem::path& file, bool quick = false);

// Where a point's cells are.
std::filesystem::path PointFolder(const std::filesystem::path& run, const SweepPoint& point);

}  // namespace cosched
