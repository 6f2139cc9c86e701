#pragma once
// Between the clients of a cell's services and their servers: takes up each request of the trace
// when it is due, whatever became of those before (an open loop), keeps it in its service's front
// queue until a server of the service has room, and accounts for every one of them: it is answered,
// or dropped because its servers are gone. Latencies count from when a request was due. Once the
// whole trace is over and a queue is empty its servers are drained, so that they end when they have
// answered what they have. Called by the harness (experiments/harness/harness.h), one thread.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/harness/service_windows.h"
#include "experiments/hosts/observed_host.h"
#include "experiments/records/cell_records.h"
#include "policies/arbiter.h"
#include "traces/arrivals/request_arrival.h"

namespace cosched {

// A service of the experiment file.
struct ServiceSetup {
  std::string name;
  std::optional<Duration> slo;        // Of its requests that have none of their own.
  std::optional<Duration> objective;  // Of the mean response in a window.
  // Requests that one of its servers may have at once; none = as many as there are, so that its
  // front queue is empty while a server runs.
  std::optional<int> in_flight;
};

class Dispatcher {
 public:
  // References outlive it. Services are known by their index (ServiceId).
  Dispatcher(std::vector<ServiceSetup> services, const RequestTrace& trace, ObservedHost& host,
             const Arbiter& arbiter, CellRecords& records);

  // Of a window's mean response, from now on.
  ServiceId SetObjective(const std::string& service, Duration objective);
  // The job was submitted as an instance of the service.
  void AddServer(ServiceId service, JobId job);

  bool AllSent() const { return next_ == trace_.size(); }
  TimePoint NextDue() const { return TimePoint(trace_[next_].time); }  // REQUIRES: !AllSent().
  // Takes up what is due, and hands servers what waits and they have room for: of those with room,
  // to the one that has the fewest, then to the one that waited longest. jobs_over: no job is to
  // come either, so that services may end.
  void Send(TimePoint now, bool jobs_over);
  void Answered(const std::vector<RequestSample>& samples);
  // What it had is dropped; what waits for others stays. False if that job serves nobody.
  bool ServerEnded(JobId job);
  // The cell is over: what was taken up and not answered is dropped.
  void DropAll();

  Duration WorstLag() const { return worst_lag_; }  // Between due and taken up.
  bool SomeServerRuns() const;  // One was started and has not ended; it may be paused.
  ServiceWindows& Windows() { return windows_; }
  const ServiceWindows& Windows() const { return windows_; }

 private:
  struct Waiting {
    int64_t id = 0;
    TimePoint taken;
  };
  struct InFlight {
    TimePoint taken, dispatched;
  };
  struct Server {
    JobId job;
    bool ended = false;
    bool draining = false;
    std::map<int64_t, InFlight> requests;  // In flight, by id.
    int64_t last_turn = 0;                 // When it was given one, in turns.
  };
  struct Service {
    ServiceSetup setup;
    std::deque<Waiting> queue;
    std::vector<Server> servers;
    bool over = false;  // All of its servers have ended.
  };
  using Place = std::pair<size_t, size_t>;  // Service, and server of it.

  void TakeUp(int64_t id, TimePoint now);
  void Dispatch(size_t service, TimePoint now);
  bool Takes(const Server& server) const { return !server.ended && arbiter_.IsAtHost(server.job); }
  // The next to be given one; none if no server has room.
  std::optional<size_t> NextServer(const Service& service) const;
  void Drain(Service* service);
  void DropQueue(size_t service);
  void EndServer(const Place& place);
  void TellHost();
  struct Fate {
    int64_t id = 0;
    JobId job;
    TimePoint taken;
    std::optional<TimePoint> dispatched = {};
    const RequestSample* answer = nullptr;
  };
  void Record(const Service& service, const Fate& fate);

  const RequestTrace& trace_;
  ObservedHost& host_;
  const Arbiter& arbiter_;
  CellRecords& records_;
  ServiceWindows windows_;
  std::vector<Service> services_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<int64_t, Place> by_job_;
  size_t next_ = 0;
  int64_t turns_ = 0;
  bool wakes_ = false;  // The host has been told to wake us at answers.
  Duration worst_lag_{0};
};

}  // namespace cosched
