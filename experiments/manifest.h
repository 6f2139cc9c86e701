#pragma once
// The folder of one run, results/<experiment>/<run>/, and its manifest.json: all that one must know
// to judge the records or to repeat them. Used by `cosched run` on one thread.
//
//   manifest.json   format 1: status ("running" until Finish), started, finished, command_line,
//   experiment (the resolved
//                   config), traces (the arrivals of each trial; of one longer than 10,000 their
//                   number and a hash),
//   cells (how many), policies
//                   (parameters, oversubscribes), build (version, git commit, compiler, libraries),
//                   host (name, kernel, cpus, governor, scheduling, topology XML), resumed (when
//                   and by what)
//
// A sweep's manifest has, in place of experiment's keys, policies and traces, `points` ({name,
// values}) and `left_out`; each point's folder below it is a run of its own with its own manifest.
//
// The folder is locked while its run lives, so that --resume never takes a run that is still going.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/hosts/unique_fd.h"
#include "experiments/sweep.h"

namespace cosched {

// What only the command knows.
struct RunContext {
  Topology topology;
  std::string command_line;
  std::string scheduling;  // Of the harness's thread (experiments/realtime.h).
};

// A new folder below `parent` (made if it must be), named by the time (UTC) and a short suffix.
// Throws InputError (key --out) if it can't be made, OutputError if the disk is full.
std::filesystem::path NewRunFolder(const std::filesystem::path& parent);

class RunFolder {
 public:
  // Makes a new folder below results/<experiment>, named by the time (UTC) and a short suffix, and
  // writes the manifest. Throws InputError (key --out) if the folder can't be made, OutputError if
  // it can't be written; leaves nothing behind then.
  static RunFolder Create(const std::filesystem::path& results, const Sweep& sweep,
                          const RunContext& context);
  // The latest unfinished run with the same experiment and traces that no other process is running.
  // Throws InputError (key --resume) if there is none.
  static RunFolder Resume(const std::filesystem::path& results, const Sweep& sweep,
                          const RunContext& context);

  const std::filesystem::path& path() const { return path_; }
  // Says in the manifest (a sweep: in its points' too) that the run is over; status: "done" or
  // "failed". Throws OutputError.
  void Finish(const std::string& status);

 private:
  RunFolder(std::filesystem::path path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  UniqueFd lock_;
};

// The folders of a sweep's points, in its order; the run itself if it is none.
std::vector<std::filesystem::path> PointFolders(const std::filesystem::path& run);

// Whether the run, with all its points, is one of this very sweep: same values, same traces.
bool IsRunOf(const std::filesystem::path& run, const Sweep& sweep);

// The experiment as JSON text with every default filled in: equal texts run equal experiments.
std::string ResolvedConfig(const ExperimentConfig& config);

}  // namespace cosched
