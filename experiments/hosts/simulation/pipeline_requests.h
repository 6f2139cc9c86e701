#pragma once
// The requests of a simulated pipeline, from when they are submitted until their answers are taken:
// what engine/gates/pipeline.h keeps around its PipelineState. Called by the pipeline on one machine
// and the one on several. One thread.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/gates/pipeline_state.h"
#include "experiments/hosts/simulation/simulated_pipeline.h"

namespace cosched {

class PipelineRequests {
 public:
  using Answer = SimulatedPipeline::Answer;

  // Each item of a request is a copy of this one.
  explicit PipelineRequests(Payload item) : item_(std::move(item)) {}

  void Submit(int64_t number, int64_t items, TimePoint now);  // REQUIRES: items >= 0.
  // Lets in those that there is room for, in order. False: none.
  bool Admit(PipelineState* state, TimePoint now);
  void Collect(PipelineState* state, TimePoint now);  // The state's answers.
  // What waits is answered, and what is inside named, for the state to cancel; others are not here.
  std::optional<RequestId> Cancel(int64_t number, TimePoint now);

  bool Empty() const { return waiting_.empty() && inside_.empty(); }
  int64_t Waiting() const { return static_cast<int64_t>(waiting_.size()); }
  int64_t Open() const { return static_cast<int64_t>(inside_.size()); }
  std::vector<Answer> Take();  // Since the last time, in order.

 private:
  struct Submitted {
    int64_t number, items;
    TimePoint time;
  };
  struct Inside {
    int64_t number;
    TimePoint submitted, admitted;
  };

  const Payload item_;
  std::deque<Submitted> waiting_;
  std::map<RequestId, Inside> inside_;
  std::vector<Answer> answers_;
};

}  // namespace cosched
