#pragma once
// The inference service of a tenant that was started by a host: requests come in through the
// control thread, answers go out on the same socket from the lanes that have found them. Made by
// RunHostedTenant in place of a training job.

#include <memory>

#include "experiments/tenant/step_meter.h"
#include "experiments/wire/request_packets.h"
#include "experiments/wire/shared_counters.h"
#include "workloads/inference_service.h"

namespace cosched {

class HostedService {
 public:
  // The socket to the host, counters and meter outlive it.
  HostedService(int socket, SharedCounters* counters, StepMeter* meter)
      : socket_(socket), counters_(counters), meter_(meter) {}

  // Loads the model. REQUIRES: once, before all else.
  void Open(const ServiceSettings& settings);
  ThreadPools& Pools() { return service_->Pools(); }
  // See InferenceService.
  void Begin() { service_->Begin(); }
  // On the control thread.
  void Take(const RequestPacket& packet);
  void Drain() { service_->Drain(); }
  // Until it is drained and has answered all. Throws as InferenceService does.
  void WaitUntilOver() { service_->WaitUntilOver(); }

 private:
  void Send(const ServedBatch& batch);

  const int socket_;
  SharedCounters* const counters_;
  StepMeter* const meter_;
  std::unique_ptr<InferenceService> service_;  // After what its lanes use.
};

}  // namespace cosched
