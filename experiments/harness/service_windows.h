#pragma once
// What services and their servers do, counted for the windows of time that policies are told of
// (policies/service.h). Told everything by the dispatcher, so windows are the same on hardware and
// in the simulator. One thread.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/wire/stage_counters.h"
#include "policies/service.h"

namespace cosched {

class ServiceWindows {
 public:
  // Services and the servers of each are numbered from 0 in the order of their adding.
  void AddService(std::string name, Duration objective);
  void AddServer(size_t service, ServerId id);
  void SetObjective(size_t service, Duration objective);

  void Arrived(size_t service, double work);  // In the front queue.
  // From the front queue.
  void Dispatched(size_t service, size_t server, TimePoint now);
  // What was due then and dispatched then has been answered.
  void Answered(size_t service, size_t server, TimePoint due, TimePoint dispatched,
                TimePoint finished);
  // The server has ended, and what it had is dropped.
  void Ended(size_t service, size_t server);
  void QueueDropped(size_t service);

  // Requests of the service at this moment: that no server has yet, and that servers have.
  int64_t Queued(size_t service) const { return services_[service].queued; }
  int64_t InFlight(size_t service) const;

  // As the last window was; before the first one, nothing has happened.
  const std::vector<ServiceView>& Views() const { return views_; }
  // Ends the window, and begins the next. cpu_time: what an instance has used so far; pipeline: what
  // its stages have done so far, if it is one.
  void Close(TimePoint now, const std::function<Duration(JobId)>& cpu_time,
             const std::function<PipelineCounters(JobId)>& pipeline);

 private:
  struct Server {
    ServerId id;
    bool ended = false;
    ServerWindow window;
    Duration responses{0}, processes{0};  // Of the answered, added up.
    double requests_s = 0;  // Integral of those in flight, but for those that still are.
    Duration cpu_time{0};   // That it had used at the begin of the window.
    std::vector<StageCounters> stages = {};  // What they had done by then.
  };
  struct Service {
    int64_t arrived = 0;
    double work = 0;  // Of those that arrived, added up.
    int64_t queued = 0;
    std::vector<Server> servers;
  };
  static void CloseStages(const PipelineCounters& pipeline, Server* server);
  void CloseService(size_t service, Duration length);
  void CloseServer(Server* server, Duration length);

  std::vector<Service> services_;  // Of the window that is open.
  std::vector<ServiceView> views_;
  TimePoint begin_;
};

}  // namespace cosched
