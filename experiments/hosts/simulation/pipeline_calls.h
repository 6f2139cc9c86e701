#pragma once
// The calls of a simulated pipeline: the real state of a pipeline (engine/gates/pipeline_state.h)
// says which call comes next, and a stage's cost says what it is made of. A call is as many equal
// parts of work as it makes items, and emits one at the end of each; where there is no room for it
// the call is parked, and tries again when the state gives it again. Knows neither time nor cores:
// whoever has them works the parts off. One thread.

#include <cstdint>
#include <vector>

#include "engine/base/random.h"
#include "engine/gates/pipeline_state.h"
#include "experiments/hosts/simulation/executions.h"
#include "workloads/stage_cost.h"

namespace cosched {

// These throw InputError. Costs are to be as many as the stages, and numbers of 0 or more.
void CheckCosts(const PipelineSpec& spec, const std::vector<StageCost>& costs);
// Of the stages that wait, all together; refuses one that does not say how many it has.
int CallsThatWait(const std::vector<StageSpec>& stages);

// What goes through a simulated pipeline on several machines: bytes that are on one of them.
struct MadeOn {
  int machine = 0;
};

class PipelineCalls {
 public:
  using Id = Executions::Id;
  static constexpr int kNoMachine = -1;  // There is but one, and payloads say nothing of it.

  // Calls of a stage draw from a stream of their own, which `random` and the stage's name give. The
  // state outlives it. Throws InputError as CheckCosts() does.
  PipelineCalls(PipelineState* state, std::vector<StageCost> costs, const Random& random);

  // The call, which is begun on that machine if it is no resumed one.
  Id Take(const PipelineState::Call& call, int machine = kNoMachine);
  // Work of the part that comes next, in seconds of a core.
  double Work(Id id) const { return At(id).part; }
  // At the end of a part, and for a resumed call: emits what it has, and ends the call if that was
  // all. kGoesOn: to work its next part off. The id of a call that is over is free again.
  enum class After { kGoesOn, kParked, kOver };
  After EndPart(Id id);
  // What is still to do of a call that takes `left` until its part's end, if its request is no more:
  // it stops where its piece ends.
  double UntilPieceEnds(Id id, double left) const;

  int Stage(Id id) const { return At(id).stage; }
  int Machine(Id id) const { return At(id).machine; }
  // Items of its batch that are not on its machine, and their bytes.
  struct Foreign {
    int64_t items = 0, bytes = 0;
  };
  Foreign Elsewhere(Id id) const { return At(id).elsewhere; }
  double StoreBytes(Id id) const { return At(id).part_store; }  // Of each part.
  bool Cancelled(Id id) const { return state_->Cancelled(At(id).call); }
  const StageCost& Cost(int stage) const { return costs_[static_cast<size_t>(stage)]; }
  int64_t Ended(int stage) const { return ended_[static_cast<size_t>(stage)]; }  // Calls …
  int64_t Taken(int stage) const { return taken_[static_cast<size_t>(stage)]; }  // … and items.

 private:
  struct Call {
    int64_t call = -1;  // -1: none.
    int stage = -1;
    int machine = kNoMachine;
    Foreign elsewhere = {};
    int64_t taken = 0;
    int64_t emits = 0, emitted = 0;
    int64_t bytes = 0;  // Of each item that it makes.
    double part = 0, part_store = 0;
  };
  Call& At(Id id) { return slots_[static_cast<size_t>(id)]; }
  const Call& At(Id id) const { return slots_[static_cast<size_t>(id)]; }
  Id FreeSlot();
  int64_t DrawEmits(int stage, int64_t items);
  double DrawFactor(int stage);

  PipelineState* const state_;
  const std::vector<StageCost> costs_;
  std::vector<Random> streams_;  // By stage.
  std::vector<Call> slots_;      // By id.
  std::vector<Id> unused_;
  std::vector<int64_t> ended_, taken_;  // By stage.
};

}  // namespace cosched
