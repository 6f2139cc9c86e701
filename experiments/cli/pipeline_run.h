#pragma once
// One run of a pipeline for a person: its requests, a line of progress on a terminal, and where the
// time went. What the applications' commands (pipeline.cc, pipeline_classify.cc) have in common.

#include <CLI/App.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "engine/gates/pipeline.h"
#include "engine/gates/remote_lanes.h"
#include "workloads/pipelines/pipeline_program.h"

namespace cosched {

// --open and --link. The values outlive the command.
void AddOpenOptions(CLI::App* command, int* open, CreditLink* link);

// A program's requests, all submitted at once, until the last has its answer.
class PipelineRun {
 public:
  // On these cores. `link`: to the ranks that make calls, too; null: there are none. Program,
  // topology and link outlive it.
  PipelineRun(const PipelineProgram& program, const CpuSet& cores, const Topology& topology,
              RankLink* link = nullptr);

  // `status`: what the line of progress says. Cancels what is left when Interrupted(). `work`: of
  // the last request; of the others it is 1.
  void Run(int64_t requests, const std::function<std::string()>& status, double last_work = 1);

  const std::vector<PipelineResult>& Results() const { return results_; }  // By number.
  double Seconds() const { return seconds_; }
  double SecondsSoFar() const;

  // Busy seconds are those in pieces, whatever became of the calls; a share is one of all of them.
  std::string StageTable() const;
  // Tells of every request that failed, and of which `what` says what it was about. The exit code:
  // bad input only if nothing else was wrong.
  int TellFailures(const std::function<std::string(int64_t request)>& what) const;

 private:
  void Note(PipelineResult result);
  bool WaitForAll(int64_t requests);

  const PipelineProgram& program_;
  std::chrono::steady_clock::time_point begin_;
  double seconds_ = 0;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<PipelineResult> results_;
  Pipeline pipeline_;  // After what its answers use.
  std::optional<RemoteLanes> remote_;
};

}  // namespace cosched
