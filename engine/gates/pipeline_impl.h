#pragma once
// The inside of a Pipeline, for pipeline.cc (its lanes) and pipeline_remote.cc (calls that are made
// elsewhere); nobody else includes it.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/gates/pipeline.h"
#include "engine/gates/stage_objects.h"
#include "engine/gates/worker_steps.h"
#include "engine/pool/lanes.h"

namespace cosched {

struct Pipeline::Impl {
  using Clock = std::chrono::steady_clock;

  // A call with the object of its stage, which stays with it while it is parked.
  class Call : public StageCall {
   public:
    Call(Impl* pipeline, PipelineState::Call call, LaneKind kind)
        : taken(static_cast<int64_t>(call.batch.items.size())),
          pipeline_(*pipeline),
          call_(std::move(call)),
          kind_(kind) {}

    ItemBatch& Batch() override { return call_.batch; }
    void Emit(Payload payload) override { pipeline_.Emit(this, std::move(payload)); }
    bool Full() const override { return !kept.empty(); }
    bool Cancelled() const override { return pipeline_.Cancelled(Id()); }
    ThreadPools* Pools() override {
      return kind_ == LaneKind::kComputes ? &pipeline_.pools : nullptr;
    }
    void AddBusy(std::chrono::nanoseconds time) override { busy += time; }

    int64_t Id() const { return call_.id; }
    size_t StageIndex() const { return static_cast<size_t>(call_.stage); }

    // Whether its stage is to be called (again) now.
    bool Runs() const { return kept.empty() && more && !why; }
    bool InPieces() const { return stage && stage->InPieces(); }

    std::unique_ptr<Stage> stage;
    std::optional<StageFailure> why;  // It failed.
    // In a piece, after which lanes are woken for what it emitted: mostly it ends its call, and this
    // lane takes what it made.
    bool wakes_later = false;
    bool emitted = false;
    std::deque<Payload> kept;  // Emitted, but there was no room.
    bool more = true;          // The stage has more to do.
    std::chrono::nanoseconds busy{0};
    const Clock::time_point begun = Clock::now();
    const int64_t taken;  // Items.

   private:
    Impl& pipeline_;
    PipelineState::Call call_;
    LaneKind kind_;
  };
  struct Submitted {
    PipelineRequest request;
    Clock::time_point when;
  };
  struct Inside {
    int64_t number = 0;
    Clock::time_point submitted, admitted;
  };
  struct Totals {
    int64_t calls = 0, taken = 0;
    std::chrono::nanoseconds busy{0}, lasted{0};
  };

  Impl(const PipelineSpec& specification, std::vector<StageFactory> stage_factories,
       const PipelineSettings& settings, std::function<void(PipelineResult)> when_answered);
  // Lanes look at what all members say, so they end before any of them.
  ~Impl();

  Lanes& LanesOf(LaneKind kind) { return kind == LaneKind::kComputes ? computing : waiting; }
  void OpenLanes();
  void Serve(LaneKind kind, size_t lane);
  std::unique_ptr<Call> Next(LaneKind kind, size_t lane);
  std::unique_ptr<Call> Make(std::unique_ptr<Call> call, LaneKind kind, size_t lane);
  std::unique_ptr<Call> Leave(std::unique_ptr<Call> call, LaneKind kind, size_t lane);
  void GiveStage(Call* call);
  static void RunStage(Call* call);
  void Emit(Call* call, Payload payload);
  bool Cancelled(int64_t call) const;
  void Cancel(int64_t number, const std::string& why);
  std::optional<RemoteCall> TakeRemote(const std::vector<int>& stages);
  void EndRemote(RemoteEnd end);
  std::optional<RemoteCall> TakeReturned(const std::vector<int>& stages);
  void AnswerRemotely(std::unique_lock<std::mutex> lock);
  void Answer(std::vector<PipelineResult> results) const;

  // With the lock.
  bool IsOver() const {
    return drained && submitted.empty() && inside.empty() && remote_answers == 0;
  }
  bool MustEnd() const {
    return closing || broken || computing.Ended() || waiting.Ended() || IsOver();
  }
  bool Begin(LaneKind kind, std::unique_ptr<Call>* call);
  std::unique_ptr<Call> GoOn(int64_t id);
  void EndCall(Call* call);
  void Wake();
  void TellRemote() const {
    if (!remote.empty() && remote_news.cancelled) remote_news.cancelled();
  }
  void Admit(std::vector<PipelineResult>* results);
  std::vector<PipelineResult> Follow();
  PipelineResult ResultOf(PipelineAnswer answer, Clock::time_point now);

  const PipelineSpec spec;
  const std::function<void(PipelineResult)> answered;
  // Stages' objects outlive the pools: workers may still hold loops of their executors.
  StageObjects objects;
  std::vector<std::unique_ptr<WorkerSteps>> steps;  // By computing lane; outlive the pools, too.

  mutable std::mutex mutex;                         // Guards these:
  std::map<int64_t, std::unique_ptr<Call>> parked;  // By call.
  std::map<int64_t, std::unique_ptr<Call>> remote;  // Made elsewhere, by call.
  std::deque<std::unique_ptr<Call>> returned;       // Elsewhere they were not made.
  RemoteNews remote_news;
  int remote_answers = 0;  // Being given by threads that are no lanes, for which lanes wait.
  PipelineState state;
  std::deque<Submitted> submitted;     // Not admitted yet.
  std::map<RequestId, Inside> inside;  // Admitted, without an answer.
  std::vector<Totals> totals;          // By stage, of calls that are over.
  bool drained = false;
  bool broken = false;   // A lane threw.
  bool closing = false;  // By the destructor.

  Lanes computing, waiting;
  ThreadPools pools;
};

}  // namespace cosched
