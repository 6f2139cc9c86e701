// Which machine of a simulated cluster begins what, and what comes out of a machine's own pipeline.

#include <algorithm>
#include <limits>

#include "engine/base/check.h"
#include "experiments/hosts/simulation/pipeline_cluster_impl.h"

namespace cosched {

// All that needs no time: requests and partitions come in and leave, and machines pull calls, those
// nearest to the egress first.
void PipelineCluster::GoOn(TimePoint now) {
  for (bool changed = true; changed;) {
    changed = requests_.Admit(&outer_->state, now);
    requests_.Collect(&outer_->state, now);
    std::vector<Machine*> machines;  // Where something changed.
    for (const auto& machine : machines_) {
      if (std::exchange(machine->changed, false)) machines.push_back(machine.get());
    }
    for (Machine* const machine : machines) changed = ResumeHeld(machine, now) || changed;
    for (int stage = outer_->state.Layout().Egress() - 1; stage >= 0; --stage) {
      const int section = cut_.section_of[static_cast<size_t>(stage)];
      if (section < 0) {
        while (BeginOuter(stage, now)) changed = true;
        continue;
      }
      for (Machine* const machine : machines) {
        Domain* const local = machine->locals[static_cast<size_t>(section)].get();
        if (local) changed = FillLocal(machine, local, now) || changed;
      }
      while (BeginPartition(stage)) changed = true;
    }
  }
}

PipelineCluster::Machine* PipelineCluster::Pulling(int stage, bool waits) {
  Machine* pulling = nullptr;
  for (const auto& machine : machines_) {
    if (!machine->runs[static_cast<size_t>(stage)] || machine->Lanes(waits) == 0) continue;
    if (!pulling || machine->Lanes(waits) > pulling->Lanes(waits)) pulling = machine.get();
  }
  return pulling;
}

PipelineCluster::Machine* PipelineCluster::PullingPartition(int stage) {
  const auto section = static_cast<size_t>(cut_.section_of[static_cast<size_t>(stage)]);
  Machine* pulling = nullptr;
  for (const auto& machine : machines_) {
    if (!machine->runs[static_cast<size_t>(stage)]) continue;
    if (!machine->locals[section]->state.CanAdmit()) continue;
    if (pulling && machine->free_cores <= pulling->free_cores) continue;
    pulling = machine.get();
  }
  return pulling;
}

bool PipelineCluster::BeginPartition(int stage) {
  Machine* const machine = PullingPartition(stage);
  std::optional<PipelineState::Call> call = outer_->state.NextOf(stage, machine != nullptr);
  if (!call) return false;
  if (call->resumed) {
    EmitPartition(call->id);
    return true;
  }
  const auto section = static_cast<size_t>(cut_.section_of[static_cast<size_t>(stage)]);
  Domain& local = *machine->locals[section];
  partitions_[call->id] = {};
  local.calls_for[local.state.NextRequest()] = call->id;
  std::vector<Payload> payloads;
  for (Item& item : call->batch.items) payloads.push_back(std::move(item.payload));
  local.state.Admit(std::move(payloads));
  machine->changed = true;
  return true;
}

bool PipelineCluster::BeginOuter(int stage, TimePoint now) {
  Machine* const machine = Pulling(stage, outer_->state.Layout().Stage(stage).waits);
  if (machine == nullptr) return false;
  const std::optional<PipelineState::Call> call = outer_->state.NextOf(stage);
  if (!call) return false;
  Accept(outer_.get(), *call, machine, now);
  return true;
}

// A call that was parked goes on where it began.
void PipelineCluster::Accept(Domain* domain, const PipelineState::Call& call, Machine* machine,
                             TimePoint now) {
  const CallRef ref{domain, domain->calls.Take(call, machine->index)};
  if (call.resumed) {
    if (!Resume(ref, now)) MachineOf(ref).held.push_back(ref);
    return;
  }
  domain->times.Begin(ref.id, now);
  TakeLane(ref, Phase::kTransfer, now);
}

// False: its machine has no core or lane for it.
bool PipelineCluster::Resume(const CallRef& call, TimePoint now) {
  Machine& machine = MachineOf(call);
  if (machine.Lanes(Waits(call)) == 0) return false;
  const int stage = call.domain->calls.Stage(call.id);
  machine.changed = true;
  const PipelineCalls::After after = call.domain->calls.EndPart(call.id);
  if (after == PipelineCalls::After::kGoesOn) TakeLane(call, Phase::kWork, now);
  if (after == PipelineCalls::After::kOver) call.domain->times.End(call.id, stage, now);
  return true;
}

void PipelineCluster::TakeLane(const CallRef& call, Phase phase, TimePoint now) {
  --MachineOf(call).Lanes(Waits(call));
  if (unused_.empty()) {
    unused_.push_back(static_cast<JobId>(jobs_.size()));
    jobs_.emplace_back();
  }
  const JobId job = unused_.back();
  unused_.pop_back();
  jobs_[static_cast<size_t>(job)].call = call;
  Enter(job, phase, now);
}

bool PipelineCluster::ResumeHeld(Machine* machine, TimePoint now) {
  return std::erase_if(machine->held,
                       [this, now](const CallRef& call) { return Resume(call, now); }) > 0;
}

bool PipelineCluster::FillLocal(Machine* machine, Domain* local, TimePoint now) {
  bool any = false;
  for (const LaneKind kind : {LaneKind::kComputes, LaneKind::kWaits}) {
    while (machine->Lanes(kind == LaneKind::kWaits) > 0) {
      const std::optional<PipelineState::Call> call = local->state.Next(kind);
      if (!call) break;
      Accept(local, *call, machine, now);
      any = true;
    }
  }
  for (PipelineAnswer& answer : local->state.TakeAnswers()) {
    const auto call = local->calls_for.find(answer.request);
    partitions_[call->second].made = std::move(answer.payloads);
    EmitPartition(call->second);
    local->calls_for.erase(call);
    any = true;
  }
  return any;
}

// What a partition became goes on over all machines, as far as there is room.
void PipelineCluster::EmitPartition(int64_t call) {
  Partition& partition = partitions_.at(call);
  while (partition.emitted < partition.made.size()) {
    if (!outer_->state.Emit(call, std::move(partition.made[partition.emitted]))) {
      return outer_->state.Park(call);
    }
    ++partition.emitted;
  }
  outer_->state.Finish(call);
  partitions_.erase(call);
}

void PipelineCluster::Domain::AddTo(PipelineSample* sample,
                                    const std::vector<int>& section_of) const {
  const std::vector<StageSample> samples = state.Sample();
  for (size_t stage = 0; stage < samples.size(); ++stage) {
    PipelineSample::Stage& to = sample->stages[static_cast<size_t>(stages[stage])];
    const StageSample& from = samples[stage];
    to.batches += from.batches;
    to.items += from.items;
    to.bytes += from.bytes;
    to.requests += from.requests;
    to.open += from.open;
    to.credits += from.credits;
    to.dropped += from.dropped;
    if (!section_of.empty() && section_of[stage] >= 0) continue;
    to.running += from.running;
    to.parked += from.parked;
    to.calls += calls.Ended(static_cast<int>(stage));
    to.taken += calls.Taken(static_cast<int>(stage));
    to.busy += times.Of(static_cast<int>(stage)).busy;
    to.lasted += times.Of(static_cast<int>(stage)).lasted;
  }
}

}  // namespace cosched
