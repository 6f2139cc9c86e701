#pragma once
// The inside of SimulatedHost, whose parts are in files of their own: simulated_host.cc has what
// happens when, simulated_moves.cc what a grant does to a tenant, simulated_work.cc how fast
// tenants compute, simulated_memory.cc what their memory costs, simulated_services.cc what is of services only,
// simulated_pipelines.cc of those that are pipelines, simulated_devices.cc of devices. Included by these. One thread.

#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "experiments/hosts/simulation/contention.h"
#include "experiments/hosts/simulation/core_sharing.h"
#include "experiments/hosts/simulation/executions.h"
#include "experiments/hosts/simulation/program_models.h"
#include "experiments/hosts/simulation/service_agenda.h"
#include "experiments/hosts/simulation/simulated_host.h"
#include "experiments/hosts/simulation/simulated_tenant.h"
#include "experiments/hosts/simulation/step_log.h"
#include "experiments/hosts/simulation/timers.h"

namespace cosched {

struct SimulatedHost::Impl {
  using Id = Executions::Id;
  using Described = simulation::Described;
  using Phase = simulation::Phase;
  using Tenant = simulation::Tenant;

  explicit Impl(Options given)
      : options(std::move(given)),
        programs(*options.profile, options.model.oversubscription),
        sharing(options.topology ? CoreSharing(*options.topology) : CoreSharing()),
        numa(options.topology ? NumaMap::Of(*options.topology) : NumaMap()),
        memory_costs(options.model.numa && numa.Count() > 1 && options.profile->KnowsFarMemory()),
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

  // simulated_host.cc: a tenant's way from its start to its end, and what happens next.
  Id NewTenant(JobId job);
  void Start(const Job& job, const Place& place);
  void StartChaos(Id id, const Job& job);
  void MakeReady(Id id, Duration after);
  void FailBy(Id id, const ChaosModel::End& end);
  void Misbehave(Id id);
  void Complete(Id id);
  void EndBy(Id id, TimePoint time);
  void Remove(Id id);
  std::optional<HostEvent> Fire(const Timers::Timer& timer);
  std::optional<HostEvent> Next(TimePoint deadline);
  Duration Charge();
  double StepsDone(Id id) const;
  TenantSample SampleOf(Id id);

  // simulated_moves.cc: what a grant does.
  void Move(JobId job, const Place& place);
  // The host moves it from outside, and stops it for a pause.
  void MoveStarting(Id id, const CpuSet& leaves);
  void MoveComputing(Id id, const CpuSet& leaves);
  void Settle(Id id);  // The tenant's threads are where the latest grant wants them.
  HostEvent Settled(Id id);
  void TellResize(const Tenant& tenant, const char* cause, const Place& before, const Place& after,
                  Duration taken);

  // simulated_work.cc: how fast it computes.
  // How many threads it has awake: a malleable one never more than cores.
  static int Awake(const Tenant& tenant);
  void Compute(Id id);
  // Brings rates up to date with all that was moved. Before any time passes.
  void Refresh();
  void RefreshOnce();
  void SetRate(Id id, Executions::ClockId clock, double rate);
  // Of the threads that it has awake, those that have something to do: of a service or a pipeline
  // those of its calls.
  static double Working(const Tenant& tenant);
  // Adds up what its threads have done and waited since the last change. Before anything changes.
  void Count(Tenant* tenant) const;
  void LeaveOthers(Tenant* tenant);  // The tenant presses on no co-runner any more.
  void Withdraw(Id id);              // The tenant computes no more.

  // simulated_memory.cc: where the machine has several NUMA nodes.
  void TouchMemory(Id id);
  void FollowWithMemory(Id id);
  void EndMemoryMove(Id id);
  static bool IsStoppedByMove(const Tenant& tenant);
  double MemoryFactor(const Tenant& tenant) const;  // Of its speed.

  // simulated_shares.cc: of tenants with a share of their cores only.
  void Limit(Id id);             // To the share of its latest grant, from now on.
  void Spend(Id id);             // As many cores' time as it computes with now.
  void AdvanceBandwidth(Id id);  // It stands still from now on, or no more.
  void WatchBandwidth(Id id, bool was_stalled);

  // simulated_services.cc: of services only.
  void StartService(Id id);
  // Each server has its part of the cores and of the threads.
  void Serve(Id id, const CoreSharing::Share& share);
  void UpdateServers(Id id);
  void AdvanceService(Id id);
  void LeaveIfDrained(Id id);
  // Does `change` to the service, and notes when it acts next.
  template <typename Change>
  void Touch(Id id, Change change) {
    Count(&At(id));
    ServiceModel& service = *At(id).service;
    const int was_busy = service.Busy();
    change(service);
    agenda.SetNext(id, service.NextEvent());
    ++touches;
    if (service.Busy() != was_busy && At(id).bandwidth) Compute(id);
  }

  // simulated_pipelines.cc: of services that are pipelines only.
  void StartPipeline(Id id, int capacity);
  void ServePipeline(Id id, const CoreSharing::Share& share);
  void UpdatePipeline(Id id);
  void SendToPipeline(Id id, const Request& request);
  void AdvancePipeline(Id id);
  // As Touch does.
  void TouchPipeline(Id id, const std::function<void(SimulatedPipeline&)>& change);
  void Answer(Id id, const SimulatedPipeline::Answer& answer);
  void Resize(Id id);  // To the threads of its place, and as many cores as it computes with.
  // split = "auto": at an answer it may take another split and other open requests, at once.
  void Arrange(Id id, const SimulatedPipeline::Answer& answer);

  // simulated_devices.cc: of devices only. Their ids are tenants' that are no job's.
  void AddDevice(const DeviceSpec& spec);
  // Does `change` to the device, and notes when it acts next.
  void TouchDevice(Id id, const std::function<void(DeviceModel&)>& change);
  void SetHostSpeed(Id id);
  void AdvanceDevice(Id id);

  const Options options;
  TimePoint now;
  ProgramModels programs;
  Executions executions;
  CoreSharing sharing;
  const NumaMap numa;
  const bool memory_costs;
  Contention contention;
  StepLog log;
  bool seeded = false;
  Random decisions{0};                           // What they are charged.
  std::unordered_map<int64_t, Described> plans;  // For jobs that were described and not started.
  std::deque<Tenant> tenants;                    // By id; those in `ids` live.
  std::vector<Id> unused;
  std::map<JobId, Id> ids;
  Timers timers;
  std::vector<TenantSample> gone;  // Last samples of those that ended since the last Sample.
  std::vector<ResizeSample> resizes;
  std::vector<MemoryMove> memory_moves;
  std::vector<Id> devices;  // By DeviceId.
  ServiceAgenda agenda;     // The living services' and the devices'.
  int64_t touches = 0;      // Services and devices that were touched.
  std::vector<RequestSample> answered;
  std::vector<HoldSample> holds;
  bool wakes_at_answers = false;
  bool refresh_again = false;  // What was brought up to date moved something.
};

}  // namespace cosched
