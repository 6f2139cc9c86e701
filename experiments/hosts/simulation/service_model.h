#pragma once
// A simulated service: one queue in order of arrival and k servers, which are the k inter-op
// threads of its split (each answers with its share of the cores). A free server begins as soon as
// a full batch waits, or the oldest request has waited for the delay, and takes as many as fit:
// what workloads/batch_queue.h does on hardware. A batch takes
//
//   (largest work of its requests) x batch_factor(requests) / speed   seconds
//
// where speed is that of one server in steps per second. Source: Kleinrock, "Queueing Systems" I,
// 1975; delayed batching as in Clipper (Crankshaw et al., NSDI 2017). One thread.

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "experiments/hosts/simulation/executions.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/service.h"

namespace cosched {

class ServiceModel {
 public:
  // batch: the most that are answered at once; max_delay: how long fewer wait for more.
  // batch_factor: 1 for a full one.
  ServiceModel(JobId job, int batch, Duration max_delay, std::function<double(int)> batch_factor);

  void Send(const Request& request, TimePoint now);
  // So many servers from now on, each with that speed; those above finish what they have begun.
  void SetServers(int servers, double steps_per_second, TimePoint now);

  void Drain(TimePoint now);  // No more will be sent, so none waits for more.

  // When Advance is to be called, if nothing else happens: a batch completes, or has waited enough.
  std::optional<TimePoint> NextEvent() const;
  void Advance(TimePoint now);

  int Busy() const { return busy_; }  // Servers that compute.
  bool Empty() const { return busy_ == 0 && waiting_.empty(); }
  std::vector<RequestSample> Take();  // Answered since the last call.

 private:
  using Server = Executions::Id;
  bool Due(TimePoint now) const;
  bool HasFreeServer() const;
  void Begin(TimePoint now);
  void BeginBatch(Server server, TimePoint now);
  void Complete(Server server, TimePoint now);

  const JobId job_;
  const size_t batch_;
  const Duration max_delay_;
  const std::function<double(int)> batch_factor_;
  Executions executions_;  // A server each, by one clock that has their speed.
  int servers_ = 0;
  int busy_ = 0;
  std::deque<RequestSample> waiting_;
  std::deque<double> work_;                         // The work of those.
  std::vector<std::vector<RequestSample>> served_;  // By server: what it answers now.
  std::vector<RequestSample> answered_;
  bool draining_ = false;
};

}  // namespace cosched
