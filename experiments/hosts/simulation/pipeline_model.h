#pragma once
// A simulated pipeline on one machine: the real PipelineState (engine/gates/pipeline_state.h), the
// calls that it gives (pipeline_calls.h), and what engine/gates/pipeline.h does with lanes.
//
//   inter     as many calls compute side by side, of whichever stages. Where there are more, after
//             a resize, the oldest go on, and the others before any new call begins
//   intra     helpers, intra - 1, or as many as find a core beside the calls, are divided equally
//             among the calls whose stage gains by them: with 1 + helpers / such calls threads a call
//             is faster as its stage's scaling law says
//   cores     fewer than calls: all slow down alike
//   waiting   calls of stages that wait have lanes of their own, and go on in a pause
//
// so a part of a call takes work / (speed-up x cores per thread x speed) seconds. Work that is left
// of a call stays what it is, whatever its speed becomes, 0 in a pause. Driven as ServiceModel is.
// One thread.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/split.h"
#include "engine/gates/pipeline.h"
#include "experiments/hosts/simulation/pipeline_calls.h"
#include "experiments/hosts/simulation/pipeline_requests.h"
#include "experiments/hosts/simulation/simulated_pipeline.h"
#include "experiments/hosts/simulation/stage_times.h"

namespace cosched {

class PipelineModel final : public SimulatedPipeline {
 public:
  struct Settings {
    PipelineSpec spec = {};
    std::vector<StageCost> costs = {};  // By stage.
    // For stages that wait, all together; 0: as many as their calls at once, where each says how
    // many.
    int waiting_lanes = 0;
    int64_t item_bytes = 0;  // Of a submitted item.
    uint64_t seed = 0;
  };
  // It begins with the first Resize: until then requests wait. Throws InputError as PipelineState does, and for costs and lanes that make
  // no sense; whether the pipeline can deadlock is for Check() to say.
  explicit PipelineModel(const Settings& settings);

  void Submit(int64_t number, int64_t items, TimePoint now) override;
  void Cancel(int64_t number, TimePoint now);  // Nothing for a number that is not inside.
  void SetOpenRequests(int count, TimePoint now) override;
  void Resize(double cores, Split split, TimePoint now) override;
  void SetSpeed(double speed, TimePoint now) override;
  std::optional<TimePoint> NextEvent() const override;
  void Advance(TimePoint now) override;

  int Busy() const { return static_cast<int>(computing_.size()); }  // Calls that compute.
  int Threads() const override { return threads_; }
  int OpenRequests() const override { return state_.OpenRequests(); }
  bool Empty() const override { return requests_.Empty(); }
  std::vector<Answer> Take() override { return requests_.Take(); }
  // `busy` is without pauses, and as long as `lasted` otherwise but for waits for room below.
  PipelineSample Sample() const override;
  const PipelineState& State() const { return state_; }

 private:
  using Id = Executions::Id;

  bool Waits(int stage) const { return state_.Layout().Stage(stage).waits; }
  bool HasLane(LaneKind kind) const;
  bool Fill(LaneKind kind, TimePoint now);
  void GoOn(TimePoint now);
  void Begin(Id id, TimePoint now);
  void Run(Id id, TimePoint now);
  void Stop(Id id, TimePoint now);
  void EndPart(Id id, TimePoint now);
  void ShortenCancelled(TimePoint now);
  void UpdateSpeeds(TimePoint now);

  const int waiting_lanes_;
  PipelineState state_;
  PipelineCalls calls_;
  Executions executions_;     // A call each, by the clock of its stage.
  std::vector<bool> helped_;  // By stage: helpers make it faster.
  bool begun_ = false;
  double cores_ = 0;
  Split split_ = {0, 0};
  double speed_ = 1;
  int threads_ = 0;
  // Calls with lanes, and those that lost theirs, which are younger; each from the oldest on.
  std::vector<Id> computing_;
  std::deque<Id> stopped_;
  std::vector<Id> in_waits_;  // Calls of stages that wait.
  PipelineRequests requests_;
  StageTimes times_;
};

}  // namespace cosched
