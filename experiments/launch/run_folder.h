#pragma once
// The folder of one run, results/<experiment>/<run>/, and its manifest.json: all that one must know
// to judge the records or to repeat them. Used by `cosched run` on one thread.
//
//   manifest.json   format 1: status ("running" until Finish), started, finished, command_line,
//                   experiment (the resolved config: experiments/config/experiment_json.h),
//                   policies (parameters, oversubscribes), cells (how many),
//                   order ("policy/elasticity/trial" of each cell, in the order of running),
//                   traces (of each trial: experiments/config/trace_json.h),
//                   profile_doubts (experiments/config/profile_doubts.h),
//                   build, host, files (what the cells rest on:
//                   experiments/launch/run_conditions.h), resumed (when, by what, and the
//                   differences that --resume=anyway accepted), stopped (of sequential trials: how
//                   many were needed, what their widest interval reached, and whose that is; cells
//                   and order are without those of later trials, traces are not), redone (when, by
//                   what, and which cells --redo-marked ran anew)
//
// A sweep's manifest has, in place of experiment's keys, policies, order and traces, `points`
// ({name, values}) and `left_out`; each point's folder below it is a run of its own with its own
// manifest.
//
// The folder is locked while its run lives, so that --resume never takes a run that is still going.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"
#include "experiments/config/sweep.h"
#include "experiments/launch/run_conditions.h"
#include "experiments/launch/trial_rounds.h"

namespace cosched {

// What becomes of a run whose cells so far rest on another binary, machine or file content.
enum class OnDifference { kRefuse, kRecord };

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
  // The latest unfinished run with the same experiment and traces that no other process is running;
  // of several one that was begun under the very conditions of now. Throws InputError (key
  // --resume) if there is none, or, with kRefuse, if its conditions were others.
  static RunFolder Resume(const std::filesystem::path& results, const Sweep& sweep,
                          const RunContext& context,
                          OnDifference on_difference = OnDifference::kRefuse);
  // The latest run of the same experiment and traces, which must be over, to run some of its cells
  // anew. Throws InputError (key --redo-marked) as Resume does.
  static RunFolder Reopen(const std::filesystem::path& results, const Sweep& sweep,
                          const RunContext& context,
                          OnDifference on_difference = OnDifference::kRefuse);

  const std::filesystem::path& path() const { return path_; }
  // Says in the manifest (a sweep: in its points' too) that the run is over; status: "done" or
  // "failed". Throws OutputError.
  void Finish(const std::string& status);
  // Says which trials were needed, where that was to be found out. Throws OutputError.
  void Stop(const Sweep& sweep, const std::vector<StoppedTrials>& stopped) const;
  // Says what these trials have reached since some of their cells ran anew. Throws OutputError.
  void Judge(const Sweep& sweep, const std::vector<StoppedTrials>& stopped) const;
  // Says in `redone`, before they run, which cells run anew; of a redo that is killed nobody can
  // say later which of them did. Throws OutputError.
  void BeginRedo(const Sweep& sweep, const std::vector<SweepCell>& cells,
                 const RunContext& context);
  // Says which of them did; they are last in the order. Throws OutputError.
  void EndRedo(const Sweep& sweep, const std::vector<SweepCell>& cells) const;

 private:
  RunFolder(std::filesystem::path path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  UniqueFd lock_;
  std::string redo_;  // When it began.
};

// Whether some process is running it now.
bool IsRunning(const std::filesystem::path& run);
// The same of a run whose manifest says so, without a look at that; for who asks often.
bool IsHeld(const std::filesystem::path& run);

// Below results/<experiment>, the latest first; without those that another process is running.
std::vector<std::filesystem::path> UnfinishedRuns(const std::filesystem::path& results,
                                                  const std::string& experiment);

// Whether the run, with all its points, is one of this very sweep: same values, same traces.
bool IsRunOf(const std::filesystem::path& run, const Sweep& sweep);

// [machine] kernel_rates, as the manifest has them, of the latest run of this sweep below
// results/<experiment> that no other process is running: what its other cells have to choose by, whatever has been measured since.
// "": there is none, or nothing of it computes.
std::string KernelRatesOfLatest(const std::filesystem::path& results, const Sweep& sweep,
                                bool unfinished);

}  // namespace cosched
