#include "experiments/hosts/simulation/simulated_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "engine/base/check.h"
#include "experiments/hosts/simulation/contention.h"
#include "experiments/hosts/simulation/core_sharing.h"
#include "experiments/hosts/simulation/delays.h"
#include "experiments/hosts/simulation/executions.h"
#include "experiments/hosts/simulation/program_models.h"
#include "experiments/hosts/simulation/service_agenda.h"
#include "experiments/hosts/simulation/simulated_tenant.h"
#include "experiments/hosts/simulation/step_log.h"
#include "experiments/hosts/simulation/timers.h"
#include "workloads/batch_sizes.h"

namespace cosched {
namespace {

using Id = Executions::Id;
using simulation::Described;
using simulation::Phase;
using simulation::Tenant;

}  // namespace

struct SimulatedHost::Impl {
  explicit Impl(Options given)
      : options(std::move(given)),
        programs(*options.profile, options.model.oversubscription),
        contention(&executions, options.model.contention),
        log(&executions) {}

  double Seconds() const { return ToSeconds(now); }
  Tenant& At(Id id) { return tenants[static_cast<size_t>(id)]; }
  const Tenant& At(Id id) const { return tenants[static_cast<size_t>(id)]; }
  // nullptr if the job has ended.
  Tenant* Find(JobId job) {
    const auto found = ids.find(job);
    return found == ids.end() ? nullptr : &At(found->second);
  }

  Id NewTenant(JobId job) {
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

  void Start(const Job& job, const CpuSet& cores, Split threads) {
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
      tenant.noise = std::exp(random.Derive("noise").Normal(0, options.model.noise));
    tenant.cores = tenant.target = cores;
    tenant.threads = tenant.target_threads = threads;
    tenant.asked = tenant.since = now;
    if (!tenant.plan.chaos.empty()) {
      executions.Add(id, static_cast<double>(tenant.plan.steps));
      return StartChaos(id, job);
    }
    if (options.model.startup) tenant.warm_up = programs.WarmUp(tenant.plan.program);
    executions.Add(id, static_cast<double>(tenant.plan.steps) + tenant.warm_up);
    Duration start =
        options.model.startup ? programs.StartTime(tenant.plan.program) : Duration::zero();
    if (tenant.plan.serves) {
      StartService(id);
      start += FromSeconds(tenant.warm_up *
                           programs.StepSecondsAlone(tenant.plan.program, cores.Count()));
    }
    MakeReady(id, start);
  }

  void StartService(Id id) {
    const Described& plan = At(id).plan;
    At(id).service = std::make_unique<ServiceModel>(
        At(id).job, plan.batch, plan.max_delay,
        [this, program = plan.program, most = plan.batch](int count) {
          return programs.BatchFactor(program, PaddedBatch(count, most));
        });
    agenda.Add(id);
  }

  // Each server has its part of the cores and of the threads.
  void Serve(Id id, const CoreSharing::Share& share) {
    Tenant& tenant = At(id);
    const int servers = tenant.threads.inter;
    CoreSharing::Share part = share;
    part.cores /= servers;
    part.granted /= servers;
    part.shared = part.shared || part.granted != std::floor(part.granted);
    const Split threads = DefaultSplit(std::max(1, tenant.runnable / servers));
    tenant.server_speed =
        programs.StepsPerSecond(tenant.plan.program, threads, part) / tenant.noise;
    tenant.disturbed_by = programs.Join(tenant.plan.program, servers * tenant.server_speed,
                                        &contention, &tenant.pressing);
    agenda.SetClock(id, tenant.disturbed_by);
  }

  // Does `change` to the service, and notes when it acts next.
  template <typename Change>
  void Touch(Id id, Change change) {
    ServiceModel& service = *At(id).service;
    change(service);
    agenda.SetNext(id, service.NextEvent());
    ++touches;
  }

  void UpdateServers(Id id) {
    const Tenant& tenant = At(id);
    const int servers = tenant.runnable > 0 ? tenant.threads.inter : 0;
    const double speed = tenant.server_speed * executions.Speed(tenant.disturbed_by);
    Touch(id, [&](ServiceModel& service) { service.SetServers(servers, speed, now); });
  }

  void StartChaos(Id id, const Job& job) {
    Tenant& tenant = At(id);
    TenantSpec spec;
    spec.model = tenant.plan.chaos;
    spec.seed = tenant.plan.seed;
    tenant.chaos = std::make_unique<ChaosModel>(spec, job, tenant.threads,
                                                options.revocation_deadline, options.machine);
    if (const auto end = tenant.chaos->AtStart()) return FailBy(id, *end);
    MakeReady(id, Duration::zero());
  }

  void FailBy(Id id, const ChaosModel::End& end) {
    Tenant& tenant = At(id);
    if (tenant.end_timer >= 0 && tenant.ends <= now + end.after) return;
    tenant.failure = end.reason;
    EndBy(id, now + end.after);
  }

  void Misbehave(Id id) {
    Tenant& tenant = At(id);
    if (const auto end = tenant.chaos->Misbehave(tenant.cores)) FailBy(id, *end);
    if (tenant.phase == Phase::kComputing) Compute(id);
  }

  void MakeReady(Id id, Duration after) {
    At(id).ready_at = now + after;
    At(id).ready_timer = timers.Arm(id, now + after);
  }

  // To these cores, or to none.
  void Move(JobId job, const CpuSet& cores, Split threads) {
    const auto found = ids.find(job);
    CHECK(found != ids.end()) << "job " << job.value << " is granted cores but does not run";
    const Id id = found->second;
    Tenant& tenant = At(id);
    const CpuSet leaves = tenant.Held() - cores;
    tenant.target = cores;
    tenant.target_threads = tenant.malleable ? threads : tenant.threads;
    tenant.settling = true;
    tenant.asked = now;
    tenant.settle_timer = -1;
    switch (tenant.phase) {
      case Phase::kStarting: return MoveStarting(id, leaves);
      case Phase::kComputing: return MoveComputing(id, leaves);
      case Phase::kLeaving:
        if (!leaves.Empty()) EndBy(id, now + options.revocation_deadline);
    }
  }

  // The host moves it from outside, and stops it for a pause.
  void MoveStarting(Id id, const CpuSet& leaves) {
    Tenant& tenant = At(id);
    const bool was_paused = tenant.cores.Empty();
    tenant.cores = tenant.target;
    tenant.threads = tenant.target_threads;
    if (tenant.cores.Empty() && !was_paused) {
      tenant.start_left = tenant.ready_at - now;
      tenant.ready_timer = -1;
    } else if (was_paused && !tenant.cores.Empty() && tenant.end_timer < 0) {
      MakeReady(id, tenant.start_left);
    }
    if (!leaves.Empty()) tenant.settle_timer = timers.Arm(id, now);
  }

  void MoveComputing(Id id, const CpuSet& leaves) {
    Tenant& tenant = At(id);
    if (leaves.Empty() && !tenant.failure.empty() &&
        !tenant.chaos) {  // It need not leave after all.
      tenant.failure.clear();
      tenant.end_timer = -1;
    }
    if (tenant.chaos) {
      if (const auto end = tenant.chaos->Move(leaves)) FailBy(id, *end);
      if (!tenant.chaos->Follows()) return;
    }
    Duration delay{0};
    if (tenant.malleable && options.model.resize_delay) {
      const DelayQuantiles& delays =
          ResizeDelayOf(options.profile->resize, tenant.cores, tenant.target);
      delay = DrawDelay(delays, &tenant.random);
    }
    if (!tenant.malleable) Settle(id);
    if (!leaves.Empty() && delay > options.revocation_deadline) {
      tenant.failure = fmt::format("did not leave cores {} within {} ms", leaves.ToString(),
                                   options.revocation_deadline / std::chrono::milliseconds(1));
      return EndBy(id, now + options.revocation_deadline);
    }
    tenant.settle_timer = timers.Arm(id, now + delay);
  }

  void EndBy(Id id, TimePoint time) {
    Tenant& tenant = At(id);
    if (tenant.end_timer >= 0 && tenant.ends <= time) return;
    tenant.ends = time;
    tenant.end_timer = timers.Arm(id, time);
  }

  // Its threads are where the latest grant wants them.
  void Settle(Id id) {
    Tenant& tenant = At(id);
    tenant.cores = tenant.target;
    tenant.threads = tenant.target_threads;
    if (tenant.phase == Phase::kComputing) Compute(id);
  }

  // How many threads it has awake: a malleable one never more than cores.
  static int Awake(const Tenant& tenant) {
    const int cores = tenant.cores.Count();
    const int threads = ThreadsOf(tenant.threads);
    if (tenant.phase != Phase::kComputing || cores == 0) return 0;
    const int awake = tenant.malleable ? std::min(threads, cores) : threads;
    if (!tenant.chaos) return awake;
    return tenant.chaos->Computes() ? tenant.chaos->Threads(awake) : 0;
  }

  void Compute(Id id) {
    const Tenant& tenant = At(id);
    const int threads = Awake(tenant);
    sharing.Place(id, tenant.cores, threads,
                  tenant.chaos ? 1 : programs.Weight(tenant.plan.program, threads));
  }

  // Brings rates up to date with all that was moved. Before any time passes.
  void Refresh() {
    std::vector<Id> moved;  // Services.
    for (const Id id : sharing.TakeChanged()) {
      Tenant& tenant = At(id);
      if (tenant.phase != Phase::kComputing) continue;
      if (tenant.service) moved.push_back(id);
      Count(&tenant);
      LeaveOthers(&tenant);
      const int awake = Awake(tenant);
      if (awake == 0) {
        tenant.busy = 0;
        tenant.runnable = 0;
        SetRate(id, 0, 0);
        continue;
      }
      const CoreSharing::Share share = sharing.Of(id);
      tenant.busy = share.cores;
      tenant.runnable = awake;
      if (tenant.chaos) {
        SetRate(id, 0, 1 / ToSeconds(kChaosStep));
        continue;
      }
      tenant.among_others = true;
      if (tenant.service) {
        Serve(id, share);
        continue;
      }
      const double speed = programs.StepsPerSecond(tenant.plan.program, tenant.threads, share);
      const Executions::ClockId clock =
          programs.Join(tenant.plan.program, speed, &contention, &tenant.pressing);
      SetRate(id, clock, speed / tenant.noise);
    }
    for (const Executions::ClockId clock : contention.Update(Seconds())) {
      if (options.steps) log.OnSpeed(clock, Seconds());
      if (agenda.Empty()) continue;
      for (const Id id : agenda.On(clock)) UpdateServers(id);
    }
    for (const Id id : moved) UpdateServers(id);
  }

  void SetRate(Id id, Executions::ClockId clock, double rate) {
    executions.SetRate(id, clock, rate, Seconds());
    if (options.steps) log.SetRate(id, clock, rate, At(id).runnable, Seconds());
  }

  // Adds up what its threads have done and waited since the last change.
  void Count(Tenant* tenant) const {
    const double passed = ToSeconds(now - tenant->since);
    tenant->run_time_s += passed * tenant->busy;
    tenant->wait_s += passed * std::max(0.0, tenant->runnable - tenant->busy);
    tenant->since = now;
  }

  // It presses on no co-runner any more.
  void LeaveOthers(Tenant* tenant) {
    if (std::exchange(tenant->among_others, false))
      contention.Leave(tenant->plan.program, tenant->pressing);
  }

  // It computes no more.
  void Withdraw(Id id) {
    Tenant& tenant = At(id);
    Count(&tenant);
    LeaveOthers(&tenant);
    tenant.busy = 0;
    tenant.runnable = 0;
    executions.SetRate(id, 0, 0, Seconds());
    sharing.Place(id, {}, 0);
  }

  void Remove(Id id) {
    Tenant& tenant = At(id);
    if (tenant.phase == Phase::kComputing) {
      if (options.steps) log.Flush(id, Seconds());
      Withdraw(id);
    }
    if (options.samples) gone.push_back(SampleOf(id));
    executions.Remove(id);
    if (tenant.service) {
      agenda.Remove(id);
    }
    ids.erase(tenant.job);
    tenant = Tenant();
    unused.push_back(id);
  }

  void Complete(Id id) {
    Tenant& tenant = At(id);
    if (options.steps) log.Finish(id, tenant.plan.steps, Seconds());
    Withdraw(id);
    executions.Add(id, 0);  // Nothing left, whatever the rounding.
    tenant.phase = Phase::kLeaving;
    tenant.settle_timer = -1;
    tenant.failure.clear();
    tenant.end_timer = tenant.moment_timer = tenant.window_timer = -1;
    if (tenant.chaos) {
      const ChaosModel::End end = tenant.chaos->Finish();
      tenant.failure = end.reason;
      return EndBy(id, now + end.after);
    }
    EndBy(id, now + (options.model.startup ? programs.StopTime(tenant.plan.program)
                                           : Duration::zero()));
  }

  void LeaveIfDrained(Id id) {
    const Tenant& tenant = At(id);
    if (tenant.draining && tenant.phase == Phase::kComputing && tenant.service->Empty())
      Complete(id);
  }

  std::optional<HostEvent> Fire(const Timers::Timer& timer) {
    Tenant& tenant = At(timer.tenant);
    if (timer.number == tenant.ready_timer) {
      tenant.ready_timer = -1;
      tenant.phase = Phase::kComputing;
      if (options.steps) log.Start(timer.tenant, tenant.job, tenant.warm_up, Seconds());
      Compute(timer.tenant);
      if (tenant.service) {
        tenant.window_timer = timers.Arm(timer.tenant, now + options.request_window);
        LeaveIfDrained(timer.tenant);
      }
      if (tenant.chaos)
        tenant.moment_timer = timers.Arm(timer.tenant, now + tenant.chaos->Moment());
      if (!tenant.settling || tenant.settle_timer >= 0) return std::nullopt;
      tenant.settling = false;
      tenant.settled_lately = true;
      return HostSettled{tenant.job};
    }
    if (timer.number == tenant.settle_timer) return Settled(timer.tenant);
    if (timer.number == tenant.moment_timer) Misbehave(timer.tenant);
    if (timer.number == tenant.window_timer) {
      tenant.window_timer = timers.Arm(timer.tenant, now + options.request_window);
      return HostWindow{tenant.job, tenant.service->TakeWindow(now)};
    }
    if (timer.number != tenant.end_timer) return std::nullopt;
    const JobId job = tenant.job;
    const std::string failure = tenant.failure;
    Remove(timer.tenant);
    if (!failure.empty()) return HostFailed{job, failure};
    return HostFinished{job};
  }

  HostEvent Settled(Id id) {
    Tenant& tenant = At(id);
    tenant.settle_timer = -1;
    tenant.settling = false;
    tenant.settled_lately = true;
    if (tenant.malleable && tenant.phase == Phase::kComputing) {
      if (options.resizes) TellResize(tenant);
      Settle(id);
    }
    return HostSettled{tenant.job};
  }

  void TellResize(const Tenant& tenant) {
    const auto split = [](const CpuSet& cores, Split threads) {
      return cores.Empty() ? Split{0, 0} : threads;
    };
    resizes.push_back({.job = tenant.job,
                       .time = now,
                       .cause = "grant",
                       .before = split(tenant.cores, tenant.threads),
                       .after = split(tenant.target, tenant.target_threads),
                       .cores = tenant.target,
                       .op = "",
                       .taken = now - tenant.asked});
  }

  double StepsDone(Id id) const {
    // None while its first step is being made ready for.
    return std::max(0.0, static_cast<double>(At(id).plan.steps) - executions.Left(id, Seconds()));
  }

  TenantSample SampleOf(Id id) {
    Tenant& tenant = At(id);
    Count(&tenant);
    TenantSample sample;
    sample.job = tenant.job;
    sample.time = now;
    sample.granted = tenant.Held();
    sample.runnable_threads = sample.compute_threads = tenant.runnable;
    sample.settling = tenant.settling || std::exchange(tenant.settled_lately, false);
    sample.run_time = FromSeconds(tenant.run_time_s);
    sample.run_queue_wait = FromSeconds(tenant.wait_s);
    sample.steps = static_cast<int64_t>(std::floor(StepsDone(id) + 1e-9));
    sample.images = sample.steps * tenant.plan.batch;
    return sample;
  }

  void AdvanceService(Id id) {
    Touch(id, [&](ServiceModel& service) {
      service.Advance(now);
      std::ranges::move(service.Take(), std::back_inserter(answered));
    });
    LeaveIfDrained(id);
  }

  std::optional<HostEvent> Next(TimePoint deadline) {
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
          AdvanceService(service->id);
        } else {
          Complete(completion->id);
        }
        continue;
      }
      if (std::optional<HostEvent> event = Fire(timers.Take())) return event;
    }
  }

  Duration Charge() {
    switch (options.model.charge) {
      case SimulationSettings::Charge::kNone: return Duration::zero();
      case SimulationSettings::Charge::kFixed: return options.model.fixed_charge;
      case SimulationSettings::Charge::kMeasured:
        return DrawDelay(options.profile->decision, &decisions);
    }
    return Duration::zero();
  }

  const Options options;
  TimePoint now;
  ProgramModels programs;
  Executions executions;
  CoreSharing sharing;
  Contention contention;
  StepLog log;
  bool seeded = false;
  Random decisions{0};                           // What they are charged.
  std::unordered_map<int64_t, Described> plans;  // Of jobs that were described and not started.
  std::deque<Tenant> tenants;                    // By id; those in `ids` live.
  std::vector<Id> unused;
  std::map<JobId, Id> ids;
  Timers timers;
  std::vector<TenantSample> gone;  // Last samples of those that ended since the last Sample.
  std::vector<ResizeSample> resizes;
  ServiceAgenda agenda;  // Of the services that live.
  int64_t touches = 0;   // Of services.
  std::vector<RequestSample> answered;
};

SimulatedHost::SimulatedHost(Options options) : impl_(new Impl(std::move(options))) {}
SimulatedHost::~SimulatedHost() = default;

TimePoint SimulatedHost::Now() const { return impl_->now; }

void SimulatedHost::Describe(JobId job, const TenantSpec& spec) {
  // The first job's seed tells trials apart.
  if (!std::exchange(impl_->seeded, true)) impl_->decisions = Random(spec.seed).Derive("decisions");
  const bool chaos = IsChaosModel(spec.model);
  impl_->plans[job.value] = {.program = chaos ? -1 : impl_->programs.IndexOf(spec),
                             .steps = spec.steps,
                             .batch = spec.batch,
                             .seed = spec.seed,
                             .serves = spec.serves,
                             .max_delay = spec.max_delay,
                             .chaos = chaos ? spec.model : ""};
}

std::vector<TenantSample> SimulatedHost::Sample() {
  impl_->Refresh();
  std::vector<TenantSample> samples = std::exchange(impl_->gone, {});
  for (const auto& [job, id] : impl_->ids) {
    samples.push_back(impl_->SampleOf(id));
    if (impl_->options.steps && impl_->At(id).phase == Phase::kComputing)
      impl_->log.Flush(id, impl_->Seconds());
  }
  impl_->log.Forget(impl_->Seconds());
  return samples;
}

std::vector<StepSample> SimulatedHost::TakeSteps() { return impl_->log.Take(); }

std::vector<RequestSample> SimulatedHost::TakeRequests() {
  return std::exchange(impl_->answered, {});
}

int64_t SimulatedHost::ServiceTouches() const { return impl_->touches; }

void SimulatedHost::Send(JobId job, const Request& request) {
  Tenant* tenant = impl_->Find(job);
  CHECK(tenant && tenant->service) << "job " << job.value << " serves nobody";
  impl_->Touch(impl_->ids.at(job),
               [&](ServiceModel& service) { service.Send(request, impl_->now); });
}

void SimulatedHost::Drain(JobId job) {
  Tenant* tenant = impl_->Find(job);
  CHECK(tenant && tenant->service) << "job " << job.value << " serves nobody";
  tenant->draining = true;
  const Id id = impl_->ids.at(job);
  impl_->Touch(id, [&](ServiceModel& service) { service.Drain(impl_->now); });
  impl_->LeaveIfDrained(id);
}

std::vector<ResizeSample> SimulatedHost::TakeResizes() { return std::exchange(impl_->resizes, {}); }

std::vector<std::string> SimulatedHost::TakeMarks() { return impl_->programs.TakeMarks(); }

Duration SimulatedHost::ChargeDecision(Duration) {
  impl_->Refresh();
  const Duration charged = impl_->Charge();
  impl_->now += charged;
  return charged;
}

void SimulatedHost::Start(const Job& job, const CpuSet& cores, Split threads) {
  impl_->Start(job, cores, threads);
}

void SimulatedHost::Grant(JobId job, const CpuSet& cores, Split threads) {
  impl_->Move(job, cores, threads);
}

void SimulatedHost::Pause(JobId job) { impl_->Move(job, {}, {0, 0}); }

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
