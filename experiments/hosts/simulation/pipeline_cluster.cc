#include "experiments/hosts/simulation/pipeline_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "experiments/hosts/simulation/pipeline_cluster_impl.h"

namespace cosched {
namespace {

constexpr Executions::ClockId kTime = 0, kStore = 1;

// As costs of the stages of a pipeline over all machines, whose sections have none of their own.
std::vector<StageCost> OuterCosts(const LocalPipelines& cut, const std::vector<StageCost>& costs) {
  std::vector<StageCost> outer;
  for (size_t stage = 0; stage < cut.first.size(); ++stage) {
    const bool section = cut.section_of[stage] >= 0;
    outer.push_back(section ? StageCost() : costs[static_cast<size_t>(cut.first[stage])]);
  }
  return outer;
}

void CheckCluster(const ClusterSettings& cluster) {
  const auto check = [](const std::string& key, double value, double least) {
    if (value >= least && std::isfinite(value)) return;
    throw InputError({.key = "simulation.cluster." + key,
                      .problem = fmt::format("{}", value),
                      .allowed = fmt::format("{} or more", least)});
  };
  check("groups", static_cast<double>(cluster.groups.size()), 1);
  check("link_latency_s", cluster.link_latency_s, 0);
  check("link_bytes_per_s", cluster.link_bytes_per_s, 0);
  check("store_bytes_per_s", cluster.store_bytes_per_s, 0);
  for (const ClusterSettings::Group& group : cluster.groups) {
    check("groups.count", group.count, 1);
    check("groups.cores", group.cores, 1);
    check("groups.waiting_lanes", group.waiting_lanes, 0);
  }
}

[[noreturn]] void RefuseRole(const std::string& name, const std::vector<StageSpec>& stages) {
  std::string allowed;
  for (const StageSpec& stage : stages) allowed += (allowed.empty() ? "" : ", ") + stage.name;
  throw InputError({.key = "simulation.cluster.groups.stages",
                    .problem = "'" + name + "' is no stage over all machines",
                    .allowed = allowed});
}

}  // namespace

PipelineCluster::PipelineCluster(const PipelineModel::Settings& settings,
                                 const ClusterSettings& cluster)
    : cluster_(cluster),
      spec_(settings.spec),
      cut_(CutLocalPipelines(settings.spec)),
      requests_(Payload::Of(MadeOn{0}, settings.item_bytes)) {
  CheckCosts(settings.spec, settings.costs);
  CheckCluster(cluster);
  CHECK(executions_.AddClock(1) == kTime && executions_.AddClock(1) == kStore);
  outer_ = std::make_unique<Domain>(cut_.outer, OuterCosts(cut_, settings.costs), cut_.first,
                                    Random(settings.seed));
  for (const ClusterSettings::Group& group : cluster.groups) {
    for (int i = 0; i < group.count; ++i) AddMachine(group, settings);
  }
  CheckRoles();
}

PipelineCluster::~PipelineCluster() = default;

void PipelineCluster::AddMachine(const ClusterSettings::Group& group,
                                 const PipelineModel::Settings& settings) {
  const auto index = static_cast<int>(machines_.size());
  Machine& machine = *machines_.emplace_back(std::make_unique<Machine>());
  machine.index = index;
  machine.free_cores = group.cores;
  machine.locals.resize(cut_.sections.size());
  for (size_t stage = 0; stage < cut_.outer.stages.size(); ++stage) {
    const std::string& name = cut_.outer.stages[stage].name;
    const bool runs = group.stages.empty() || std::ranges::count(group.stages, name) > 0;
    machine.runs.push_back(runs);
    if (!runs || cut_.section_of[stage] < 0) continue;
    const auto section = static_cast<size_t>(cut_.section_of[stage]);
    const LocalPipelines::Section& local = cut_.sections[section];
    std::vector<int> stages;
    for (int each = local.first; each < local.end; ++each) stages.push_back(each);
    machine.locals[section] = std::make_unique<Domain>(
        local.spec,
        std::vector<StageCost>(settings.costs.begin() + local.first,
                               settings.costs.begin() + local.end),
        stages, Random(settings.seed).Derive("machine " + std::to_string(index)));
  }
  machine.free_waiting = WaitingLanesOf(group, machine);
}

int PipelineCluster::WaitingLanesOf(const ClusterSettings::Group& group,
                                    const Machine& machine) const {
  if (group.waiting_lanes > 0) return group.waiting_lanes;
  int lanes = 0;
  for (size_t stage = 0; stage < cut_.outer.stages.size(); ++stage) {
    if (!machine.runs[stage]) continue;
    const int section = cut_.section_of[stage];
    lanes += section < 0 ? CallsThatWait({cut_.outer.stages[stage]})
                         : CallsThatWait(cut_.sections[static_cast<size_t>(section)].spec.stages);
  }
  return lanes;
}

void PipelineCluster::CheckRoles() const {
  for (const ClusterSettings::Group& group : cluster_.groups) {
    for (const std::string& name : group.stages) {
      if (std::ranges::count(cut_.outer.stages, name, &StageSpec::name) == 0)
        RefuseRole(name, cut_.outer.stages);
    }
  }
  for (size_t stage = 0; stage < cut_.outer.stages.size(); ++stage) {
    const bool any = std::ranges::any_of(
        machines_, [stage](const auto& machine) { return machine->runs[stage]; });
    if (!any) {
      RefuseStage(cut_.outer.stages[stage], "machines", "none", "one that runs it, or more");
    }
  }
}

PipelineCluster::Machine& PipelineCluster::MachineOf(const CallRef& call) {
  return *machines_[static_cast<size_t>(call.domain->calls.Machine(call.id))];
}

bool PipelineCluster::Waits(const CallRef& call) const {
  return call.domain->state.Layout().Stage(call.domain->calls.Stage(call.id)).waits;
}

void PipelineCluster::Submit(int64_t number, int64_t items, TimePoint now) {
  Advance(now);
  requests_.Submit(number, items, now);
  GoOn(now);
}

void PipelineCluster::SetOpenRequests(int count, TimePoint now) {
  Advance(now);
  outer_->state.SetOpenRequests(count);
  GoOn(now);
}

std::optional<TimePoint> PipelineCluster::NextEvent() const {
  const std::optional<Executions::Completion> next = executions_.Next();
  if (!next) return std::nullopt;
  return NotBefore(next->time);
}

void PipelineCluster::Advance(TimePoint now) {
  while (const std::optional<Executions::Completion> next = executions_.Next()) {
    const TimePoint time = NotBefore(next->time);
    if (time > now) return;
    EndPhase(next->id, time);
    GoOn(time);
  }
}

// A call enters its phase of the moment; where that has nothing to do, the next.
void PipelineCluster::Enter(JobId job, Phase phase, TimePoint now) {
  const CallRef call = jobs_[static_cast<size_t>(job)].call;
  const PipelineCalls& calls = call.domain->calls;
  const PipelineCalls::Foreign foreign = calls.Elsewhere(call.id);
  if (phase == Phase::kTransfer && foreign.items == 0) phase = Phase::kWork;
  jobs_[static_cast<size_t>(job)].phase = phase;
  switch (phase) {
    case Phase::kTransfer: {
      ++traffic_.transfers;
      traffic_.bytes += foreign.bytes;
      const double rate = cluster_.link_bytes_per_s;
      const double bytes_s = rate > 0 ? static_cast<double>(foreign.bytes) / rate : 0;
      executions_.Add(job, cluster_.link_latency_s + bytes_s);
      break;
    }
    case Phase::kWork:
      call.domain->times.Run(call.id, now);
      executions_.Add(job, calls.Work(call.id));
      break;
    case Phase::kStore:
      ++storing_;
      executions_.Add(job, calls.StoreBytes(call.id));
      break;
  }
  executions_.SetRate(job, phase == Phase::kStore ? kStore : kTime, 1, ToSeconds(now));
  if (phase == Phase::kStore) UpdateStore(now);
}

void PipelineCluster::EndPhase(JobId job, TimePoint now) {
  executions_.Remove(job);
  const Phase phase = jobs_[static_cast<size_t>(job)].phase;
  const CallRef call = jobs_[static_cast<size_t>(job)].call;
  if (phase == Phase::kTransfer) return Enter(job, Phase::kWork, now);
  if (phase == Phase::kStore) {
    --storing_;
    UpdateStore(now);
    return EndPart(job, now);
  }
  call.domain->times.Stop(call.id, now);
  const bool stores = call.domain->calls.StoreBytes(call.id) > 0 && cluster_.store_bytes_per_s > 0;
  stores ? Enter(job, Phase::kStore, now) : EndPart(job, now);
}

void PipelineCluster::UpdateStore(TimePoint now) {
  if (storing_ == 0) return;
  executions_.SetSpeed(kStore, cluster_.store_bytes_per_s / storing_, ToSeconds(now));
}

void PipelineCluster::EndPart(JobId job, TimePoint now) {
  const CallRef call = jobs_[static_cast<size_t>(job)].call;
  const bool waits = Waits(call);
  const int stage = call.domain->calls.Stage(call.id);
  Machine& machine = MachineOf(call);
  machine.changed = true;
  const PipelineCalls::After after = call.domain->calls.EndPart(call.id);
  if (after == PipelineCalls::After::kGoesOn) return Enter(job, Phase::kWork, now);
  if (after == PipelineCalls::After::kOver) call.domain->times.End(call.id, stage, now);
  ++machine.Lanes(waits);
  unused_.push_back(job);
}

PipelineSample PipelineCluster::Sample() const {
  PipelineSample sample{.waiting = requests_.Waiting(),
                        .open = requests_.Open(),
                        .open_requests = outer_->state.OpenRequests()};
  for (size_t stage = 0; stage < spec_.stages.size(); ++stage) {
    PipelineSample::Stage& of = sample.stages.emplace_back();
    of.name = spec_.stages[stage].name;
    of.waits = spec_.stages[stage].waits;
  }
  outer_->AddTo(&sample, cut_.section_of);
  for (const auto& machine : machines_) {
    for (const auto& local : machine->locals) {
      if (local) local->AddTo(&sample, {});
    }
  }
  return sample;
}

void PipelineCluster::CheckInvariants() const {
  outer_->state.CheckInvariants();
  for (const auto& machine : machines_) {
    for (const auto& local : machine->locals) {
      if (local) local->state.CheckInvariants();
    }
  }
}

}  // namespace cosched
