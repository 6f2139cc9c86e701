#pragma once
// A simulated pipeline on several machines, which share nothing but a store. The state of the
// pipeline (engine/gates/pipeline_state.h) is on the first machine; each machine that has a free core
// pulls a call, the one with the most of them first, and works on it alone:
//
//   transfer  where items of the call's batch were made on other machines: latency + bytes /
//             bandwidth. Submitted items are on the first machine
//   work      as on one core (pipeline_calls.h), or without one, of a stage that waits
//   store     what it reads or writes, by processor sharing with all others that do: each of n gets
//             a n-th of the store's bandwidth
//
// and holds its core through all of them. Partitions stay on the machine that pulled them, in a
// pipeline of its own there (local_pipelines.h), which pulls as its credits allow; `parallel` of its
// stages is of each machine, and of others of all machines together. One thread.

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "experiments/hosts/simulation/cluster_settings.h"
#include "experiments/hosts/simulation/local_pipelines.h"
#include "experiments/hosts/simulation/pipeline_model.h"

namespace cosched {

class PipelineCluster {
 public:
  // `waiting_lanes` are the groups'. Throws InputError as PipelineModel does, and for machines that
  // make no sense.
  PipelineCluster(const PipelineModel::Settings& settings, const ClusterSettings& cluster);
  ~PipelineCluster();
  PipelineCluster(const PipelineCluster&) = delete;
  PipelineCluster& operator=(const PipelineCluster&) = delete;

  // REQUIRES, here and below: `now` does not go back. A call does all that is due before `now`.
  void Submit(int64_t number, int64_t items, TimePoint now);
  void SetOpenRequests(int count, TimePoint now);  // REQUIRES: 1 to the specification's open_max.
  std::optional<TimePoint> NextEvent() const;
  void Advance(TimePoint now);

  bool Empty() const { return requests_.Empty(); }
  std::vector<PipelineModel::Answer> Take() { return requests_.Take(); }
  // Of all machines together. `busy` is of work only.
  PipelineSample Sample() const;
  struct Traffic {
    int64_t transfers = 0;  // Calls that had one,
    int64_t bytes = 0;      // and what was transferred.
  };
  const Traffic& Transferred() const { return traffic_; }
  void CheckInvariants() const;

 private:
  using JobId = Executions::Id;
  enum class Phase { kTransfer, kWork, kStore };
  struct Domain;  // A pipeline: the one over all machines, or a machine's own.
  struct Machine;
  struct CallRef {
    Domain* domain = nullptr;
    PipelineCalls::Id id = 0;
  };
  struct Job {  // A call that has a core or a lane of its machine.
    CallRef call;
    Phase phase = Phase::kWork;
  };
  struct Partition {  // A call of a section, which is a request of a machine's own pipeline.
    std::vector<Payload> made = {};
    size_t emitted = 0;
  };

  void AddMachine(const ClusterSettings::Group& group, const PipelineModel::Settings& settings);
  void CheckRoles() const;
  int WaitingLanesOf(const ClusterSettings::Group& group, const Machine& machine) const;

  void GoOn(TimePoint now);
  bool BeginPartition(int stage);
  bool BeginOuter(int stage, TimePoint now);
  bool ResumeHeld(Machine* machine, TimePoint now);
  bool FillLocal(Machine* machine, Domain* local, TimePoint now);
  void EmitPartition(int64_t call);

  Machine& MachineOf(const CallRef& call);
  bool Waits(const CallRef& call) const;
  // The one that runs the stage and has most free cores or lanes, or credits for the section;
  // nullptr: none has one.
  Machine* Pulling(int stage, bool waits);
  Machine* PullingPartition(int stage);
  void Accept(Domain* domain, const PipelineState::Call& call, Machine* machine, TimePoint now);
  bool Resume(const CallRef& call, TimePoint now);
  void TakeLane(const CallRef& call, Phase phase, TimePoint now);
  void Enter(JobId job, Phase phase, TimePoint now);
  void EndPhase(JobId job, TimePoint now);
  void EndPart(JobId job, TimePoint now);
  void UpdateStore(TimePoint now);

  const ClusterSettings cluster_;
  const PipelineSpec spec_;
  const LocalPipelines cut_;
  Executions executions_;
  int storing_ = 0;
  std::unique_ptr<Domain> outer_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<Job> jobs_;
  std::vector<JobId> unused_;
  std::unordered_map<int64_t, Partition> partitions_;  // By call.
  PipelineRequests requests_;
  Traffic traffic_;
};

}  // namespace cosched
