#pragma once
// A pipeline at work: lanes that make the calls of its PipelineState. As many calls compute side by
// side as the split of the pools has inter-op threads, whichever stages they are of: cores are never
// fixed to a stage. Intra-op helpers join inside a call. Stages that wait have lanes of their own,
// which compute nothing. Resizing the pools is all it takes to resize the pipeline; with none left
// calls stop between two pieces or two tasks of a loop, and requests, items and credits stay where they are.
//
// Called by the tenant with mode = "pipeline" and by `cosched pipeline run`. Thread-safe.

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/split.h"
#include "engine/gates/pipeline_state.h"
#include "engine/gates/stage.h"
#include "engine/pool/thread_pools.h"

namespace cosched {

struct PipelineSettings {
  Split capacity = {1, 1};  // Of the pools; as many lanes as inter-op threads.
  ThreadPools::Binding binding = ThreadPools::Binding::kNone;
  const Topology* topology = nullptr;  // Needed for kEachToItsCore.
  Waiting waiting = {};
};

struct PipelineRequest {
  int64_t number = 0;  // Its submitter's; no two that are inside have the same.
  std::vector<Payload> items = {};
};

// What became of a request, and when.
struct PipelineResult {
  int64_t number = 0;
  PipelineAnswer answer = {};
  std::string stage = {};  // Where it failed.
  std::chrono::steady_clock::time_point submitted = {}, admitted = {}, ended = {};
  // Admitted is `ended` for a request that was cancelled before.
};

struct PipelineSample {
  struct Stage : StageSample {
    std::string name = {};
    bool waits = false;
    int64_t calls = 0;                   // Ended …
    int64_t taken = 0;                   // … and the items that they took.
    std::chrono::nanoseconds busy{0};    // In pieces that ran, of all calls.
    std::chrono::nanoseconds lasted{0};  // From begin to end of calls, parked ones included.
  };
  std::vector<Stage> stages = {};
  int64_t waiting = 0;    // Requests that are not admitted yet …
  int64_t open = 0;       // … and those that are, without an answer.
  int open_requests = 0;  // The most that SetOpenRequests allows.
};

// A call that is made elsewhere (remote_lanes.h). Its batch stays here, for whoever took it to read,
// until it has ended.
struct RemoteCall {
  int64_t id = -1;
  int stage = -1;
  const ItemBatch* batch = nullptr;
};

// What came of it: what it made, nothing (of a call that was cancelled), or why it failed.
struct RemoteEnd {
  int64_t id = -1;
  std::variant<std::monostate, Payload, StageFailure> outcome = {};
  std::chrono::nanoseconds busy{0};
};

// Called with locks held: they must be quick and must not call the pipeline. Null for none.
struct RemoteNews {
  std::function<void()> work = {};       // There may be another call to take.
  std::function<void()> cancelled = {};  // Some that were taken may be cancelled.
};

class Pipeline {
 public:
  // `stages` make the objects of the specification's stages, in order. Its pools have no cores yet.
  // `answered` gets each submitted request once, on a lane, an inter-op worker, which computes
  // nothing while it blocks, or a thread of its remote lanes, several at a time.
  // Throws InputError as Check() does, and for a stage that waits without a limit on its calls, of
  // which each has a lane of its own. REQUIRES: as many factories as stages.
  Pipeline(const PipelineSpec& spec, std::vector<StageFactory> stages,
           const PipelineSettings& settings, std::function<void(PipelineResult)> answered);
  // Drops what is inside. REQUIRES: not paused, if it has begun.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Starts its lanes. Throws std::system_error if they can't be. REQUIRES: once.
  void Begin();
  ThreadPools& Pools();

  // Admitted in this order, as credits allow. REQUIRES: not drained.
  void Submit(PipelineRequest request);
  // Nothing for a number that is not inside (any more). Its calls end at their next piece.
  void Cancel(int64_t number, const std::string& why);
  void SetOpenRequests(int count);  // REQUIRES: 1 to the specification's open_max.
  void Drain();                     // No more will be submitted.
  // Blocks until it is drained and has answered all. Throws what ended it, if it could not go on.
  void WaitUntilOver();

  PipelineSample Sample() const;

  // Calls of stages that emit one item and don't wait can be made elsewhere, as by further lanes.
  void OnRemoteNews(RemoteNews news);
  // Of these stages the one nearest to the egress that has a call to begin.
  std::optional<RemoteCall> TakeRemote(const std::vector<int>& stages);
  // Nothing for a call that is not under way elsewhere.
  void EndRemote(RemoteEnd end);
  // The same. It is made from its beginning, here or by who takes it next, as if it had only begun.
  void ReturnRemote(int64_t call);
  std::vector<int64_t> CancelledRemote() const;  // Of those that were taken and have not ended.
  // It can't go on: WaitUntilOver throws this. The first one counts.
  void Break(const std::exception_ptr& error);
  bool Broken() const;  // By that, or by what a lane threw: there will be no more answers.

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
