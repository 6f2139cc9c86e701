#pragma once
// The inference service of a hosted tenant.

#include "experiments/tenant/hosted_server.h"
#include "experiments/tenant/step_meter.h"
#include "experiments/wire/shared_counters.h"
#include "workloads/inference_service.h"

namespace cosched {

class HostedService : public HostedServer {
 public:
  // Loads the model. The socket to the host, counters and meter outlive it. Throws as
  // InferenceService does.
  HostedService(const ServiceSettings& settings, int socket, SharedCounters* counters,
                StepMeter* meter);

  ThreadPools& Pools() override { return service_.Pools(); }
  void Begin() override { service_.Begin(); }
  void Take(const RequestPacket& packet) override;
  void Drain() override { service_.Drain(); }
  void WaitUntilOver() override { service_.WaitUntilOver(); }

 private:
  void Send(const ServedBatch& batch);

  const int socket_;
  SharedCounters* const counters_;
  StepMeter* const meter_;
  InferenceService service_;  // After what its lanes use.
};

}  // namespace cosched
