#pragma once
// What is done with a batch between two gates. Stages are written by applications
// (workloads/pipelines) and called by the lanes of a Pipeline, each object for one call at a time:
// as many are made as calls are under way at once, and kept for later calls.

#include <chrono>
#include <functional>
#include <memory>

#include "engine/gates/item.h"

namespace cosched {

class ThreadPools;

// One call, of one batch; lasts until its stage is through with it. For one thread at a time.
class StageCall {
 public:
  virtual ~StageCall() = default;
  virtual ItemBatch& Batch() = 0;  // Payloads may be moved out.
  // Gives an item to the gate below, by order of emission; where there is no room it is kept here
  // until there is.
  virtual void Emit(Payload payload) = 0;
  // Whether something is kept: the stage should return as soon as it can.
  virtual bool Full() const = 0;
  // Whether nobody waits for the result, as the request failed or was cancelled. Asked between
  // pieces; then the stage just returns.
  virtual bool Cancelled() const = 0;
  // The cores of the pipeline; null on the lanes of stages that wait, which own none.
  virtual ThreadPools* Pools() = 0;
  virtual void AddBusy(std::chrono::nanoseconds time) = 0;  // That a piece ran.
};

class Stage {
 public:
  virtual ~Stage() = default;
  // Begins the call, or goes on with the one that it returned from. Whether there is more to do: it
  // returns in the middle of a call where that is Full, and goes on when there is room. What it
  // throws fails the request, and no other; the object then begins another call or none.
  virtual bool Run(StageCall& call) = 0;
  // Whether Run makes one piece only, some milliseconds at most, and blocks for nothing: it is then
  // called on an inter-op worker, if the call computes, instead of on the lane's own thread.
  virtual bool InPieces() const { return false; }
};

// Makes one of a stage's objects; from any lane, one at a time.
using StageFactory = std::function<std::unique_ptr<Stage>()>;

// A stage that computes in pieces, of some milliseconds at most: between two of them a worker can be
// taken away, and the call goes on on another, or later. `run_piece` runs the piece of this index,
// from 0 in each call, and says whether there is another. It runs on an inter-op worker, where it
// may use the pools' ParallelFor, or, in a stage that waits, on the lane's own thread.
using RunPiece = std::function<bool(StageCall& call, int piece)>;
std::unique_ptr<Stage> MakeNativeStage(RunPiece run_piece);

}  // namespace cosched
