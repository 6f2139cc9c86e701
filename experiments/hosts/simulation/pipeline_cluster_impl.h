#pragma once
// The inside of PipelineCluster, whose parts are in files of their own: pipeline_cluster.cc has what
// happens when, pipeline_pulls.cc which machine begins what.
// Included by these. One thread.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/hosts/simulation/pipeline_cluster.h"

namespace cosched {

struct PipelineCluster::Domain {
  Domain(const PipelineSpec& spec, std::vector<StageCost> costs, std::vector<int> stages_of_all,
         const Random& random)
      : state(spec),
        calls(&state, std::move(costs), random),
        times(spec.stages.size()),
        stages(std::move(stages_of_all)) {}
  // `section_of`: by stage; at the others only the gates are this pipeline's. Empty: none is one.
  void AddTo(PipelineSample* sample, const std::vector<int>& section_of) const;

  PipelineState state;
  PipelineCalls calls;
  StageTimes times;
  std::vector<int> stages;                 // Of the whole pipeline, by stage of this one.
  std::map<RequestId, int64_t> calls_for;  // What a machine's own answers: calls over all machines.
};

struct PipelineCluster::Machine {
  int& Lanes(bool waits) { return waits ? free_waiting : free_cores; }

  int index = 0;
  int free_cores = 0, free_waiting = 0;
  std::vector<bool> runs;                       // By stage over all machines.
  std::vector<std::unique_ptr<Domain>> locals;  // By section; null: it does not run it.
  std::deque<CallRef> held;                     // Calls to go on with, for want of a core.
  bool changed = false;  // Since it was last looked at: a core or lane, or a pipeline of its own.
};

}  // namespace cosched
