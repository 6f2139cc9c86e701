// What simulated services that are pipelines do: when they begin, their cores, and their answers.

#include <algorithm>
#include <iterator>
#include <optional>

#include "experiments/hosts/simulation/cluster_pipeline.h"
#include "experiments/hosts/simulation/simulated_host_impl.h"
#include "experiments/wire/pipeline_counters.h"

namespace cosched {
namespace {

constexpr Split kOfACluster = {1, 1};

}  // namespace

void SimulatedHost::Impl::StartPipeline(Id id, int capacity) {
  Tenant& tenant = At(id);
  const std::optional<ClusterSettings>& cluster = options.model.cluster;
  PipelineModel::Settings settings =
      SimulatedPipelineSettings(*tenant.plan.pipeline, cluster ? CoresOf(*cluster) : capacity,
                                programs.Stages(tenant.plan.program));
  settings.seed = tenant.plan.seed;
  if (tenant.plan.chooses && tenant.malleable) {
    // A cluster's machines have their own threads: nothing but open requests is tried.
    const Split most = cluster ? kOfACluster : Split{capacity, capacity};
    tenant.chooser = std::make_unique<PipelineChooser>(most, settings.spec.open_max);
  }
  if (cluster) {
    tenant.pipeline = std::make_unique<ClusterPipeline>(settings, *cluster);
  } else {
    tenant.pipeline = std::make_unique<PipelineModel>(settings);
  }
  agenda.Add(id);
}

// It presses on others as a program of its speed does; which calls there are is the model's.
void SimulatedHost::Impl::ServePipeline(Id id, const CoreSharing::Share& share) {
  Tenant& tenant = At(id);
  tenant.pipeline_cores = share.cores;
  const double speed =
      programs.StepsPerSecond(tenant.plan.program, tenant.place.threads, share) / tenant.noise;
  tenant.disturbed_by = programs.Join(tenant.plan.program, speed, &contention, &tenant.pressing);
  agenda.SetClock(id, tenant.disturbed_by);
}

void SimulatedHost::Impl::UpdatePipeline(Id id) {
  const Tenant& tenant = At(id);
  if (tenant.phase != Phase::kComputing) return;
  const bool stalls = tenant.bandwidth && tenant.bandwidth->Stalled();
  const double speed = stalls ? 0 : executions.Speed(tenant.disturbed_by) / tenant.noise;
  TouchPipeline(id, [&](SimulatedPipeline& pipeline) {
    const int open = tenant.place.open_requests;
    if (open > 0 && open != pipeline.OpenRequests()) pipeline.SetOpenRequests(open, now);
    pipeline.SetSpeed(speed, now);
    Resize(id);
  });
}

void SimulatedHost::Impl::Resize(Id id) {
  const Tenant& tenant = At(id);
  // Where amounts are granted and it is idle, its share is not known before it computes.
  const double cores = tenant.runnable > 0 ? tenant.pipeline_cores : tenant.place.cores.Count();
  tenant.pipeline->Resize(tenant.place.Pauses() ? 0 : cores, tenant.place.threads, now);
}

void SimulatedHost::Impl::TouchPipeline(Id id,
                                        const std::function<void(SimulatedPipeline&)>& change) {
  Count(&At(id));
  SimulatedPipeline& pipeline = *At(id).pipeline;
  const int threads = pipeline.Threads();
  change(pipeline);
  // Another arrangement may let in what is answered at once.
  for (auto answers = pipeline.Take(); !answers.empty(); answers = pipeline.Take()) {
    for (const SimulatedPipeline::Answer& answer : answers) Answer(id, answer);
  }
  agenda.SetNext(id, pipeline.NextEvent());
  ++touches;
  if (pipeline.Threads() == threads || !At(id).bandwidth) return;
  Compute(id);
  refresh_again = true;
}

void SimulatedHost::Impl::Answer(Id id, const SimulatedPipeline::Answer& answer) {
  const auto scheduled = At(id).scheduled.find(answer.number);
  answered.push_back({.server = At(id).job,
                      .id = answer.number,
                      .scheduled = scheduled->second,
                      .received = answer.submitted,
                      .started = answer.admitted,
                      .finished = answer.ended,
                      .batch = 1,
                      .failed = answer.status != PipelineAnswer::Status::kDone});
  At(id).scheduled.erase(scheduled);
  if (At(id).chooser) Arrange(id, answer);
}

void SimulatedHost::Impl::Arrange(Id id, const SimulatedPipeline::Answer& answer) {
  Tenant& tenant = At(id);
  if (tenant.phase != Phase::kComputing || tenant.place.Pauses()) return tenant.chooser->Paused();
  const bool on_cluster = options.model.cluster.has_value();
  const auto next = tenant.chooser->Answered(
      {.admitted = answer.admitted,
       .ended = answer.ended,
       .failed = answer.status != PipelineAnswer::Status::kDone},
      on_cluster ? CpuSet{0} : tenant.place.cores,
      {on_cluster ? kOfACluster : tenant.place.threads, tenant.pipeline->OpenRequests()}, now);
  if (!next) return;
  tenant.place.open_requests = next->open;
  tenant.pipeline->SetOpenRequests(next->open, now);
  if (on_cluster || next->split == tenant.place.threads) return;
  const Place before = tenant.place;
  tenant.place.threads = next->split;
  TellResize(tenant, "auto", before, tenant.place, Duration(0));
  Compute(id);
  Resize(id);
  refresh_again = true;
}

void SimulatedHost::Impl::SendToPipeline(Id id, const Request& request) {
  At(id).scheduled[request.id] = request.scheduled;
  const int64_t items = PipelineItems(*At(id).plan.pipeline, request.work);
  TouchPipeline(id, [&](SimulatedPipeline& pipeline) { pipeline.Submit(request.id, items, now); });
}

void SimulatedHost::Impl::AdvancePipeline(Id id) {
  TouchPipeline(id, [this](SimulatedPipeline& pipeline) { pipeline.Advance(now); });
  LeaveIfDrained(id);
}

PipelineCounters SimulatedHost::Pipeline(JobId job) {
  const Impl::Tenant* const tenant = impl_->Find(job);
  if (tenant == nullptr || !tenant->pipeline) return {};
  return CountersOf(tenant->pipeline->Sample());
}

}  // namespace cosched
