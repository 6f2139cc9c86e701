#pragma once
// The world, as the arbiter needs it: real processes (ProcessHost) or a simulator. It belongs to
// its consumer, so it lives here. What a job runs (model, steps, …) is the host's affair: whoever
// submits a job to the arbiter has told the host of it. Used from one thread, the one that runs the
// harness's loop.

#include <optional>
#include <string>
#include <variant>

#include "engine/base/check.h"
#include "engine/base/clock.h"
#include "policies/job.h"
#include "policies/place.h"
#include "policies/service.h"

namespace cosched {

// The job's threads are where its latest Start, Grant or Pause put them, and nowhere else.
struct HostSettled {
  JobId job;
};
// The job did all its steps, or was drained and has answered all requests; its process is gone.
struct HostFinished {
  JobId job;
};
// The job's process died, hung or broke its contract; it is gone by now.
struct HostFailed {
  JobId job;
  std::string reason;
};
// A device is gone, with the requests that it had.
struct HostLostDevice {
  DeviceId device;
  std::string reason;
};
using HostEvent = std::variant<HostSettled, HostFinished, HostFailed, HostLostDevice>;

class Host {
 public:
  virtual ~Host() = default;
  virtual const Clock& GetClock() const = 0;
  // How long a decision took in this world, whose clock has moved on by that much; `measured`: by
  // this machine's clock. A real world's clock has moved by itself.
  virtual Duration ChargeDecision(Duration measured) { return measured; }

  // Starts a job there. `place.threads` is the split it computes with: for a rigid or moldable job
  // fixed for its life. Answered by HostSettled once it runs (or HostFailed).
  virtual void Start(const Job& job, const Place& place) = 0;
  // Moves a running or paused job there, which is no pause; a malleable one also changes its
  // threads to `place.threads`. Answered by one HostSettled for the latest Grant or Pause
  // (superseded ones are not answered).
  virtual void Grant(JobId job, const Place& place) = 0;
  // The job gives up its cores at the next safe point and keeps its memory. Answered by
  // HostSettled.
  virtual void Pause(JobId job) = 0;
  // Ends a job at once, without HostFinished; it is gone when Stop returns.
  virtual void Stop(JobId job) = 0;
  // A request for an instance of its service that was started and has not ended, or for a device
  // that was not lost. Only hosts that have services.
  virtual void Send(const ServerId&, const Request& request) {
    CHECK(false) << "request " << request.id << ": no services here";
  }
  // No more requests will be sent to that service: it answers those it has, then ends, answered by
  // HostFinished. Only hosts that have services.
  virtual void Drain(JobId job) { CHECK(false) << "job " << job.value << ": no services here"; }
  // Share of its steps that the job has done, 0..1.
  virtual double Progress(JobId job) const = 0;

  // The next event, waiting until `deadline` at most; nullopt when the time is up (or a signal
  // arrived, or something else that the harness waits for).
  virtual std::optional<HostEvent> NextEvent(TimePoint deadline) = 0;
};

}  // namespace cosched
