#pragma once
// What answers requests in a tenant that was started by a host: an inference service
// (hosted_service.h) or a pipeline (hosted_pipeline.h). Requests come in through the control thread,
// answers go out on the same socket from the lanes that have found them. Made by RunHostedTenant in
// place of a training job.

#include "engine/pool/thread_pools.h"
#include "experiments/wire/request_packets.h"

namespace cosched {

class HostedServer {
 public:
  virtual ~HostedServer() = default;
  virtual ThreadPools& Pools() = 0;
  virtual void Begin() = 0;  // REQUIRES: once; the pools have been granted cores.
  // On the control thread.
  virtual void Take(const RequestPacket& packet) = 0;
  virtual void Drain() = 0;
  // Of a pipeline: so many requests may be open from now on.
  virtual void SetOpenRequests(int) {}
  virtual void Beat() {}  // From time to time.
  // Of what is wanted for all ranks of a pipeline what this one has; the others are told their parts.
  virtual ResizeRequest Share(const ResizeRequest& all) { return all; }
  // Until it is drained and has answered all. Throws what ended it, if it could not go on.
  virtual void WaitUntilOver() = 0;
};

}  // namespace cosched
