#include "experiments/hosts/simulation/simulated_host.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/portable_math.h"
#include "experiments/hosts/simulation/simulated_host_impl.h"
#include "experiments/wire/pipeline_counters.h"
#include "workloads/draw_delay.h"

namespace cosched {

SimulatedHost::Impl::Id SimulatedHost::Impl::NewTenant(JobId job) {
  Id id = static_cast<Id>(tenants.size());
  if (unused.empty()) {
    tenants.emplace_back();
  } else {
    id = unused.back();
    unused.pop_back();
    At(id) = Tenant();
  }
  CHECK(ids.emplace(job, id).second) << "job " << job.value << " is started again";
  return id;
}

void SimulatedHost::Impl::Start(const Job& job, const Place& place) {
  const auto plan = plans.find(job.id.value);
  CHECK(plan != plans.end()) << "job " << job.id.value << " was not described";
  const Id id = NewTenant(job.id);
  Tenant& tenant = At(id);
  tenant.plan = plan->second;
  plans.erase(plan);
  tenant.job = job.id;
  tenant.malleable = job.elasticity == Elasticity::kMalleable;
  const Random random(tenant.plan.seed);
  tenant.random = random.Derive("delays");
  if (options.model.noise > 0)
    tenant.noise = PortableExp(random.Derive("noise").Normal(0, options.model.noise));
  tenant.place = tenant.target = place;
  tenant.asked = tenant.since = now;
  Limit(id);
  if (!tenant.plan.chaos.empty()) {
    executions.Add(id, static_cast<double>(tenant.plan.steps));
    return StartChaos(id, job);
  }
  if (options.model.startup) tenant.warm_up = programs.WarmUp(tenant.plan.program);
  executions.Add(id, static_cast<double>(tenant.plan.steps) + tenant.warm_up);
  Duration start =
      options.model.startup ? programs.StartTime(tenant.plan.program) : Duration::zero();
  if (tenant.plan.serves) {
    tenant.plan.pipeline ? StartPipeline(id, job.request.max) : StartService(id);
    start += FromSeconds(tenant.warm_up *
                         programs.StepSecondsAlone(tenant.plan.program, place.cores.Count()));
  }
  MakeReady(id, start);
}

void SimulatedHost::Impl::StartChaos(Id id, const Job& job) {
  Tenant& tenant = At(id);
  TenantSpec spec;
  spec.model = tenant.plan.chaos;
  spec.seed = tenant.plan.seed;
  tenant.chaos = std::make_unique<ChaosModel>(spec, job, tenant.place.threads,
                                              options.revocation_deadline, options.machine);
  if (const auto end = tenant.chaos->AtStart()) return FailBy(id, *end);
  MakeReady(id, Duration::zero());
}

void SimulatedHost::Impl::FailBy(Id id, const ChaosModel::End& end) {
  Tenant& tenant = At(id);
  if (tenant.end_timer >= 0 && tenant.ends <= now + end.after) return;
  tenant.failure = end.reason;
  EndBy(id, now + end.after);
}

void SimulatedHost::Impl::Misbehave(Id id) {
  Tenant& tenant = At(id);
  if (const auto end = tenant.chaos->Misbehave(tenant.place.cores)) FailBy(id, *end);
  if (tenant.phase == Phase::kComputing) Compute(id);
}

void SimulatedHost::Impl::MakeReady(Id id, Duration after) {
  At(id).ready_at = now + after;
  At(id).ready_timer = timers.Arm(id, now + after);
}

void SimulatedHost::Impl::EndBy(Id id, TimePoint time) {
  Tenant& tenant = At(id);
  if (tenant.end_timer >= 0 && tenant.ends <= time) return;
  tenant.ends = time;
  tenant.end_timer = timers.Arm(id, time);
}

void SimulatedHost::Impl::Remove(Id id) {
  Tenant& tenant = At(id);
  if (tenant.phase == Phase::kComputing) {
    if (options.steps) log.Flush(id, Seconds());
    Withdraw(id);
  }
  if (options.samples) gone.push_back(SampleOf(id));
  executions.Remove(id);
  timers.SetAlarm(id, std::nullopt);
  if (tenant.Serves()) agenda.Remove(id);
  ids.erase(tenant.job);
  tenant = Tenant();
  unused.push_back(id);
}

void SimulatedHost::Impl::Complete(Id id) {
  Tenant& tenant = At(id);
  if (options.steps) log.Finish(id, tenant.plan.steps, Seconds());
  Withdraw(id);
  executions.Add(id, 0);  // Nothing left, whatever the rounding.
  tenant.phase = Phase::kLeaving;
  tenant.settle_timer = -1;
  tenant.failure.clear();
  tenant.end_timer = tenant.moment_timer = tenant.memory_timer = -1;
  tenant.bandwidth_timer = timers.SetAlarm(id, std::nullopt);
  if (tenant.chaos) {
    const ChaosModel::End end = tenant.chaos->Finish();
    tenant.failure = end.reason;
    return EndBy(id, now + end.after);
  }
  EndBy(id,
        now + (options.model.startup ? programs.StopTime(tenant.plan.program) : Duration::zero()));
}

std::optional<HostEvent> SimulatedHost::Impl::Fire(const Timers::Timer& timer) {
  Tenant& tenant = At(timer.tenant);
  if (timer.number == tenant.ready_timer) {
    tenant.ready_timer = -1;
    tenant.phase = Phase::kComputing;
    TouchMemory(timer.tenant);
    if (options.steps) log.Start(timer.tenant, tenant.job, tenant.warm_up, Seconds());
    Compute(timer.tenant);
    if (tenant.Serves()) LeaveIfDrained(timer.tenant);
    if (tenant.chaos) tenant.moment_timer = timers.Arm(timer.tenant, now + tenant.chaos->Moment());
    if (!tenant.settling || tenant.settle_timer >= 0) return std::nullopt;
    tenant.settling = false;
    tenant.settled_lately = true;
    return HostSettled{tenant.job};
  }
  if (timer.number == tenant.settle_timer) return Settled(timer.tenant);
  if (timer.number == tenant.bandwidth_timer) AdvanceBandwidth(timer.tenant);
  if (timer.number == tenant.memory_timer) EndMemoryMove(timer.tenant);
  if (timer.number == tenant.moment_timer) Misbehave(timer.tenant);
  if (timer.number != tenant.end_timer) return std::nullopt;
  const JobId job = tenant.job;
  const std::string failure = tenant.failure;
  Remove(timer.tenant);
  if (!failure.empty()) return HostFailed{job, failure};
  return HostFinished{job};
}

double SimulatedHost::Impl::StepsDone(Id id) const {
  // None while its first step is being made ready for.
  return std::max(0.0, static_cast<double>(At(id).plan.steps) - executions.Left(id, Seconds()));
}

TenantSample SimulatedHost::Impl::SampleOf(Id id) {
  Tenant& tenant = At(id);
  Count(&tenant);
  TenantSample sample;
  sample.job = tenant.job;
  sample.time = now;
  sample.granted = tenant.Held();
  sample.amount = tenant.HeldAmount();
  sample.runnable_threads = static_cast<int>(std::ceil(Working(tenant)));
  sample.compute_threads = tenant.runnable;
  sample.settling = tenant.settling || std::exchange(tenant.settled_lately, false);
  sample.run_time = FromSeconds(tenant.run_time_s);
  sample.run_queue_wait = FromSeconds(tenant.wait_s);
  if (tenant.bandwidth) sample.throttled = tenant.bandwidth->TimeStalled(now);
  sample.steps = static_cast<int64_t>(std::floor(StepsDone(id) + 1e-9));
  sample.images = sample.steps * tenant.plan.batch;
  if (tenant.pipeline) sample.pipeline = CountersOf(tenant.pipeline->Sample());
  return sample;
}

std::optional<HostEvent> SimulatedHost::Impl::Next(TimePoint deadline) {
  while (true) {
    Refresh();
    const std::optional<Executions::Completion> completion = executions.Next();
    TimePoint completes = completion ? NotBefore(completion->time) : TimePoint::max();
    std::optional<ServiceAgenda::Entry> service = agenda.First();
    if (service && service->time >= completes) service.reset();
    if (service) completes = service->time;
    const TimePoint fires = timers.Next();
    if (std::min(completes, fires) > deadline) {
      now = std::max(now, deadline);
      return std::nullopt;
    }
    now = std::max(now, std::min(completes, fires));
    if (completes < fires) {
      if (service) {
        const Tenant& next = At(service->id);
        next.device     ? AdvanceDevice(service->id)
        : next.pipeline ? AdvancePipeline(service->id)
                        : AdvanceService(service->id);
        if (wakes_at_answers && !answered.empty()) return std::nullopt;
      } else {
        Complete(completion->id);
      }
      continue;
    }
    if (std::optional<HostEvent> event = Fire(timers.Take())) return event;
  }
}

Duration SimulatedHost::Impl::Charge() {
  switch (options.model.charge) {
    case SimulationSettings::Charge::kNone: return Duration::zero();
    case SimulationSettings::Charge::kFixed: return options.model.fixed_charge;
    case SimulationSettings::Charge::kMeasured:
      return DrawDelay(options.profile->decision, &decisions);
  }
  return Duration::zero();
}

SimulatedHost::SimulatedHost(Options options) : impl_(new Impl(std::move(options))) {}
SimulatedHost::~SimulatedHost() = default;

TimePoint SimulatedHost::Now() const { return impl_->now; }

void SimulatedHost::Describe(JobId job, const TenantSpec& spec) {
  // The first job's seed tells trials apart.
  if (!std::exchange(impl_->seeded, true)) impl_->decisions = Random(spec.seed).Derive("decisions");
  const bool chaos = IsChaosModel(spec.model);
  std::shared_ptr<const PipelineChoice> pipeline;
  if (spec.IsPipeline()) pipeline = std::make_shared<const PipelineChoice>(spec.pipeline);
  impl_->plans[job.value] = {.program = chaos ? -1 : impl_->programs.IndexOf(spec),
                             .steps = spec.steps,
                             .batch = spec.batch,
                             .seed = spec.seed,
                             .serves = spec.serves,
                             .pipeline = std::move(pipeline),
                             .chooses = spec.auto_split,
                             .max_delay = spec.max_delay,
                             .chaos = chaos ? spec.model : ""};
}

std::vector<TenantSample> SimulatedHost::Sample() {
  impl_->Refresh();
  std::vector<TenantSample> samples = std::exchange(impl_->gone, {});
  for (const auto& [job, id] : impl_->ids) {
    samples.push_back(impl_->SampleOf(id));
    if (impl_->options.steps && impl_->At(id).phase == Impl::Phase::kComputing)
      impl_->log.Flush(id, impl_->Seconds());
  }
  impl_->log.Forget(impl_->Seconds());
  return samples;
}

std::vector<StepSample> SimulatedHost::TakeSteps() { return impl_->log.Take(); }

std::vector<ResizeSample> SimulatedHost::TakeResizes() { return std::exchange(impl_->resizes, {}); }

std::vector<MemoryMove> SimulatedHost::TakeMemoryMoves() {
  return std::exchange(impl_->memory_moves, {});
}

std::vector<std::string> SimulatedHost::TakeMarks() { return impl_->programs.TakeMarks(); }

Duration SimulatedHost::ChargeDecision(Duration) {
  impl_->Refresh();
  const Duration charged = impl_->Charge();
  impl_->now += charged;
  return charged;
}

void SimulatedHost::Start(const Job& job, const Place& place) { impl_->Start(job, place); }

void SimulatedHost::Grant(JobId job, const Place& place) { impl_->Move(job, place); }

void SimulatedHost::Pause(JobId job) { impl_->Move(job, Place::Paused()); }

void SimulatedHost::Stop(JobId job) {
  if (const auto found = impl_->ids.find(job); found != impl_->ids.end())
    impl_->Remove(found->second);
}

double SimulatedHost::Progress(JobId job) const {
  const auto found = impl_->ids.find(job);
  if (found == impl_->ids.end()) return 0;
  const auto all = static_cast<double>(impl_->At(found->second).plan.steps);
  return std::clamp(impl_->StepsDone(found->second) / std::max(1.0, all), 0.0, 1.0);
}

std::optional<HostEvent> SimulatedHost::NextEvent(TimePoint deadline) {
  return impl_->Next(deadline);
}

}  // namespace cosched
