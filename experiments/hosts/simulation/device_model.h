#pragma once
// A simulated device beside the cores: what its process does on hardware
// (experiments/tenant/device_service.h). A request first costs CPU time on the host, done by one of
// its host threads in order of arrival; then it waits for what is no CPU time; then it queues for a
// slot (workloads/device_queue.h), is held there, and is answered. How fast host threads are is the
// cores' affair (simulation/core_sharing.h): SetHostSpeed. Slots know nothing of cores.
//
// Not modelled: holds that end later than planned. Source: M/G/k with the profile's times;
// Kleinrock, "Queueing Systems" I, 1975. One thread.

#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "experiments/hosts/simulation/executions.h"
#include "experiments/wire/device_spec.h"
#include "workloads/device_queue.h"

namespace cosched {

class DeviceModel {
 public:
  // REQUIRES: the profile has the models of all services of the spec.
  DeviceModel(const DeviceSpec& spec, int host_threads);

  void Send(const Request& request, TimePoint now);
  int HostBusy() const { return busy_; }  // Host threads that work.
  // CPU time per time of each host thread that works, 0 to 1.
  void SetHostSpeed(double speed, TimePoint now);

  // When Advance is to be called, if nothing else happens. It may be called later, when a decision
  // kept the harness busy: the device went on meanwhile, and what it did has the times of then.
  std::optional<TimePoint> NextEvent() const;
  void Advance(TimePoint now);

  std::vector<RequestSample> TakeAnswers();  // Since the last call.
  std::vector<HoldSample> TakeHolds();       // The same, that ended.

 private:
  struct Service {
    double host_cpu_s = 0;
    Duration host_wait{0};
  };
  struct Asked {
    RequestSample sample;
    size_t service = 0;
    double work = 1;
  };
  void StartHostWork(TimePoint now);
  void LeaveHost(const Asked& request, TimePoint now);
  void BeginHolds();
  void EndHold();

  const DeviceId id_;
  std::vector<Service> services_;
  Executions host_;                            // By host thread, on one clock.
  std::deque<Asked> arrived_;                  // For whom no host thread was free yet.
  std::vector<std::optional<Asked>> at_host_;  // By host thread.
  int busy_ = 0;
  std::multimap<TimePoint, Asked> waiting_;  // By the end of their waiting.
  DeviceQueue queue_;
  std::unordered_map<int64_t, Asked> submitted_;  // By request.
  std::multimap<TimePoint, DeviceQueue::Hold> held_;
  std::vector<RequestSample> answered_;
  std::vector<HoldSample> holds_;
};

}  // namespace cosched
