#include "experiments/tenant/hosted_tenant.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/topology.h"
#include "engine/mpi/mpi_link.h"
#include "experiments/os/large_blocks.h"
#include "experiments/tenant/attachment.h"
#include "experiments/tenant/chaos_tenant.h"
#include "experiments/tenant/control_thread.h"
#include "experiments/tenant/hosted_command.h"
#include "experiments/tenant/hosted_control.h"
#include "experiments/tenant/hosted_pipeline.h"
#include "experiments/tenant/hosted_rank.h"
#include "experiments/tenant/hosted_service.h"
#include "experiments/tenant/pool_threads.h"
#include "experiments/wire/shared_counters.h"
#include "workloads/training_job.h"

namespace cosched {
namespace {

// `counters`: the page that its threads tell of their waiting in; null: none, of further ranks.
SessionOptions ThreadsOf(const HostedTenantOptions& options, const Topology& topology,
                         SharedCounters* counters) {
  const bool malleable = options.elasticity == Elasticity::kMalleable;
  SessionOptions session;
  // Each of several ranks has its part of the cores, at most.
  const int ranks = options.spec.pipeline.ranks;
  const int capacity = (options.capacity + ranks - 1) / ranks;
  session.inter_op_parallelism_threads = malleable ? capacity : options.threads.inter;
  session.intra_op_parallelism_threads = malleable ? capacity : options.threads.intra;
  // Threads that only the cpuset moves, or that are more than their cores for a while, are not
  // bound.
  const bool bound = malleable && !options.unbound && options.client == Client::kOn;
  session.binding = bound ? ThreadPools::Binding::kEachToItsCore : ThreadPools::Binding::kNone;
  session.topology = bound ? &topology : nullptr;
  if (counters != nullptr) {
    session.waiting.inter = counters->InterRecords();
    session.waiting.intra = counters->IntraRecords();
  }
  return session;
}

bool ChoosesItsSplit(const HostedTenantOptions& options) {
  return options.elasticity == Elasticity::kMalleable && options.spec.auto_split;
}

JobSettings SettingsOf(const HostedTenantOptions& options, const Topology& topology,
                       SharedCounters* counters) {
  JobSettings settings{options.spec};
  settings.auto_split = ChoosesItsSplit(options);
  settings.session = ThreadsOf(options, topology, counters);
  return settings;
}

std::unique_ptr<HostedPipeline> MakePipeline(const HostedTenantOptions& options,
                                             const Topology& topology, int socket,
                                             SharedCounters* counters, StepMeter* meter,
                                             RankLink* link) {
  const SessionOptions threads = SessionOf(options.spec, ThreadsOf(options, topology, counters));
  auto pipeline = std::make_unique<HostedPipeline>(
      MakePipelineProgram(options.spec.pipeline, threads.inter_op_parallelism_threads, threads),
      PipelineSettingsOf(threads), ChoosesItsSplit(options), socket, counters, meter);
  if (link != nullptr) pipeline->JoinRanks(link);
  return pipeline;
}

// Null: there is one rank only.
std::unique_ptr<MpiLink> LinkOfRanks(const HostedTenantOptions& options) {
  const int ranks = options.spec.pipeline.ranks;
  if (ranks == 1) return nullptr;
  // A trace may have made it something else than its experiment says.
  if (options.elasticity != Elasticity::kMalleable || options.unbound || ChoosesItsSplit(options)) {
    throw InputError({.key = "ranks",
                      .problem = std::to_string(ranks) + " of a tenant that is not malleable",
                      .allowed = "1, or a malleable one whose cores and split a policy gives"});
  }
  // A rank that is ended by mpirun because another one was killed has to say so first.
  std::signal(SIGTERM, SIG_IGN);
  auto link = std::make_unique<MpiLink>();
  if (link->Size() != ranks) {
    throw InputError({.key = "ranks",
                      .problem = std::to_string(ranks) + ", but " + std::to_string(link->Size()) +
                                 " were started",
                      .allowed = "as many as mpirun starts"});
  }
  return link;
}

std::unique_ptr<HostedServer> MakeService(const HostedTenantOptions& options,
                                          const Topology& topology, int socket,
                                          SharedCounters* counters, StepMeter* meter) {
  ServiceSettings settings{options.spec};
  settings.max_delay = options.spec.max_delay;
  settings.session = ThreadsOf(options, topology, counters);
  return std::make_unique<HostedService>(settings, socket, counters, meter);
}

void Compute(TrainingJob* job, int64_t steps, ControlThread* control, SharedCounters* counters,
             StepMeter* meter) {
  PoolThreads pools(&job->session().Pools());
  const Attachment attachment(control, &pools);
  control->Ready();
  int64_t images = 0;
  for (int64_t step = 0; step < steps; ++step) {
    control->WaitToCompute();
    const auto start = StepMeter::Clock::now();  // CLOCK_MONOTONIC, as MonotonicNow().
    const StepResult result = job->Step();
    const auto end = StepMeter::Clock::now();
    meter->Add(start, end, result.images);
    const int threads = job->session().Pools().ActiveThreads();
    images += result.images;
    counters->AddStep({step, end.time_since_epoch(), end - start, threads, result.loss},
                      result.images);
  }
  control->Send(FinishedMessage{steps, images});
}

void DoSteps(HostedPipeline* pipeline, int64_t steps, ControlThread* control) {
  PoolThreads threads(&pipeline->Pools());
  const Attachment attachment(control, &threads);
  control->Ready();
  control->WaitToCompute();
  pipeline->DoSteps(steps);
  control->Send(FinishedMessage{steps, steps});
}

void Serve(HostedServer* server, ControlThread* control, const StepMeter& meter) {
  PoolThreads threads(&server->Pools());
  const Attachment attachment(control, &threads);
  control->WaitToCompute();
  server->Begin();
  control->Ready();
  server->WaitUntilOver();
  const StepMeter::Reading reading = meter.Read(StepMeter::Clock::now());
  control->Send(FinishedMessage{reading.steps, reading.images});
}

}  // namespace

int RunHostedTenant(const HostedTenantOptions& options) {
  if (options.host_socket.empty()) DieWithHost(options.host_pid);
  if (IsChaosModel(options.spec.model)) return RunChaosTenant(options);
  if (options.spec.IsCommand()) return RunHostedCommand(options, Topology::ThisMachine());
  if (options.spec.IsPipeline()) ReturnLargeBlocks();
  const std::unique_ptr<MpiLink> link = LinkOfRanks(options);
  const Topology topology = Topology::ThisMachine();
  if (link && link->Rank() > 0) {
    const SessionOptions session = SessionOf(options.spec, ThreadsOf(options, topology, nullptr));
    return ServeHostedRank(link.get(), options.spec, session, topology);
  }
  HostLink host = LinkToHost(options);
  SharedCounters counters = SharedCounters::Map(std::move(host.counters));
  StepMeter meter;
  const int socket = host.socket.get();
  std::unique_ptr<HostedServer> server;  // Null of jobs that do steps of a network.
  ControlThreadOptions control_options = HostedControlOptions(options);
  control_options.on_open_requests = [&](int count) {
    if (server) server->SetOpenRequests(count);
  };
  control_options.on_beat = [&] {
    if (server) server->Beat();
  };
  if (link)
    control_options.share = [&](const ResizeRequest& wanted) { return server->Share(wanted); };
  if (options.spec.serves) {
    control_options.on_requests = [&](const RequestPacket& packet) { server->Take(packet); };
    control_options.on_drain = [&] { server->Drain(); };
  }
  ControlThread control(std::move(control_options), std::move(host.socket), &counters, &meter,
                        topology);
  try {
    if (options.spec.IsPipeline() && !options.spec.serves) {
      auto pipeline = MakePipeline(options, topology, socket, &counters, &meter, link.get());
      HostedPipeline* const steps = pipeline.get();
      server = std::move(pipeline);
      DoSteps(steps, options.spec.steps, &control);
      return 0;
    }
    if (options.spec.serves) {
      if (options.spec.IsPipeline()) {
        server = MakePipeline(options, topology, socket, &counters, &meter, link.get());
      } else {
        server = MakeService(options, topology, socket, &counters, &meter);
      }
      Serve(server.get(), &control, meter);
      return 0;
    }
    TrainingJob job(SettingsOf(options, topology, &counters));
    Compute(&job, options.spec.steps, &control, &counters, &meter);
    return 0;
  } catch (const std::exception& error) {
    control.Send(ErrorMessage{error.what()});
    std::fprintf(stderr, "%s\n", error.what());
    const int code = dynamic_cast<const InputError*>(&error) != nullptr ? 2 : 1;
    // Without destructors: other lanes may be in the middle of a batch, or paused there.
    // And other ranks may wait for what does not come.
    if (server || link) _exit(code);
    return code;
  }
}

}  // namespace cosched
