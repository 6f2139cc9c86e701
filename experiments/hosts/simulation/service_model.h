#pragma once
// A simulated service: one queue in order of arrival and k servers, which are the k inter-op
// threads of its split (each answers with its share of the cores). A free server takes as many
// waiting requests as fit in a batch, at once, and never waits for more. A batch takes
//
//   (largest work of its requests) x batch_factor(requests) / speed   seconds
//
// where speed is that of one server in steps per second. Source: Kleinrock, "Queueing Systems" I,
// 1975; batching as in Clipper (Crankshaw et al., NSDI 2017) without its delay. One thread.

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "experiments/hosts/simulation/executions.h"
#include "experiments/hosts/tenant_spec.h"
#include "policies/service.h"

namespace cosched {

class ServiceModel {
 public:
  // batch: the most that are answered at once. batch_factor: 1 for a full one.
  ServiceModel(JobId job, int batch, std::function<double(int)> batch_factor);

  void Send(const Request& request, TimePoint now);
  // So many servers from now on, each with that speed; those above finish what they have begun.
  void SetServers(int servers, double steps_per_second, TimePoint now);

  std::optional<double> NextCompletion() const;  // Seconds.
  void Complete(TimePoint now);                  // What completes next. REQUIRES: NextCompletion().

  int Busy() const { return busy_; }  // Servers.
  bool Empty() const { return busy_ == 0 && waiting_.empty(); }
  std::vector<RequestSample> Take();  // Answered since the last call.
  ServiceWindow TakeWindow(TimePoint now);

 private:
  using Server = Executions::Id;
  void Begin(TimePoint now);

  const JobId job_;
  const size_t batch_;
  const std::function<double(int)> batch_factor_;
  Executions executions_;  // A server each, by one clock that has their speed.
  int servers_ = 0;
  int busy_ = 0;
  std::deque<RequestSample> waiting_;
  std::deque<double> work_;                         // Of those.
  std::vector<std::vector<RequestSample>> served_;  // By server: what it answers now.
  std::vector<RequestSample> answered_;
  TimePoint window_begin_;
  int64_t arrived_ = 0;
  std::vector<Duration> responses_;  // Of the window.
};

}  // namespace cosched
