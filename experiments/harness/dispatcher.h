#pragma once
// Between the clients of a cell's services and their servers: takes up each request when it is due
// (request_source.h), keeps it in its service's front queue until a server of the service has room,
// and accounts for every one of them: it is answered, or dropped because its servers are gone.
// Latencies count from when a request was due. Once no request is to come and a queue is empty the
// service's instances are drained, so that they end when they have answered what they have; also
// once all clients wait for services without a server, which may get one only when others end.
//
// A request goes to a server as soon as one has room: to the one that has the fewest in flight,
// then to a device, then to the one that waited longest. Where several queues wait for the same
// server, the Dispatch of its class (policies/dispatch/dispatch.h) says which is next. With polling
// as published (pollers.h) servers are handed requests by a poller a class instead.
//
// Called by the harness (experiments/harness/harness.h), one thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/harness/front_queue.h"
#include "experiments/harness/pollers.h"
#include "experiments/harness/request_source.h"
#include "experiments/harness/server_table.h"
#include "experiments/harness/service_windows.h"
#include "experiments/hosts/observed_host.h"
#include "experiments/records/cell_records.h"
#include "policies/arbiter.h"

namespace cosched {

// A service of the experiment file.
struct ServiceSetup {
  std::string name;
  std::optional<Duration> slo;        // Of its requests that have none of their own.
  std::optional<Duration> objective;  // Of the mean response in a window.
  // Requests that one of its instances may have at once; none = as many as there are, so that its
  // front queue is empty while one runs.
  std::optional<int> in_flight;
};

struct DeviceSetup {
  DeviceSpec spec;
  std::optional<int> in_flight;  // Requests that it may have at once; none = any number.
};

struct DispatcherSetup {
  std::vector<ServiceSetup> services;  // By ServiceId.
  std::vector<DeviceSetup> devices;    // By DeviceId.
  // By ServerClass; that of a class without a choice may be null.
  std::array<std::unique_ptr<Dispatch>, kServerClasses> dispatch = {};
  std::optional<Random> polling = {};  // Servers are handed requests by pollers, with these draws.
};

class Dispatcher {
 public:
  // References outlive it. Adds the devices to the host.
  Dispatcher(DispatcherSetup setup, const RequestTrace& trace,
             const std::vector<ClientScript>& clients, ObservedHost& host, const Arbiter& arbiter,
             CellRecords& records);

  // Of a window's mean response, from now on.
  ServiceId SetObjective(const std::string& service, Duration objective);
  // The job was submitted as an instance of the service.
  void AddInstance(ServiceId service, JobId job);

  // No request will be due unless a client is answered.
  bool NoneDue() const { return !source_.NextDue(); }
  // No device has a request, or is about to be given one.
  bool DevicesIdle() const;
  // When Send has something to do, if nothing else happens.
  std::optional<TimePoint> NextDue() const;
  // Takes up what is due, and hands servers what waits. jobs_over: no job is to come either, so that
  // services may end.
  void Send(TimePoint now, bool jobs_over);
  void Answered(const std::vector<RequestSample>& samples);
  // What it had is dropped; what waits for others stays. False if that server serves nobody.
  bool ServerEnded(const ServerId& server);
  // The cell is over: what was taken up and not answered is dropped.
  void DropAll();

  Duration WorstLag() const { return worst_lag_; }  // Between due and taken up.
  // One was started and has not ended; it may be paused.
  bool SomeInstanceRuns() const { return instances_running_ > 0; }
  ServiceWindows& Windows() { return windows_; }
  const ServiceWindows& Windows() const { return windows_; }

 private:
  struct Service {
    ServiceSetup setup;
    FrontQueue queue;
    std::vector<size_t> servers;
    std::optional<JobId> first_instance;
  };

  void AddDevice(const DeviceSetup& device);
  void AddPollers();
  size_t AddServer(ServerTable::Server server);
  void TakeUp(TimePoint now);
  void ReachInstances();
  void Match(TimePoint now);
  void Poll(TimePoint now);
  // Which of its queues that wait is next. REQUIRES: one does.
  size_t Choose(size_t server, TimePoint now);
  QueueView View(size_t service, size_t server, TimePoint now) const;
  std::optional<Duration> Expected(size_t service, size_t server) const;
  void Give(size_t service, size_t server, TimePoint now);
  void Drain(const Service& service);
  bool IsOver(const Service& service) const;  // All of its servers have ended.
  bool HasServer(size_t service) const;       // One of them can be reached.
  // The first of that class that can be reached.
  std::optional<size_t> ServerOf(size_t service, ServerClass kind) const;
  bool Starves() const;  // Requests come again only when one is answered that has no server.
  void DropQueue(size_t service);
  void EndServer(size_t server);
  void TellHost();
  struct Fate {
    int64_t id = 0;
    const ServerTable::Server* server = nullptr;  // Null: it never had one.
    TimePoint taken;
    std::optional<TimePoint> dispatched = {};
    const RequestSample* answer = nullptr;
  };
  void Record(const Service& service, const Fate& fate);

  RequestSource source_;
  ObservedHost& host_;
  const Arbiter& arbiter_;
  CellRecords& records_;
  ServiceWindows windows_;
  ServerTable servers_;
  std::vector<Service> services_;
  std::array<std::unique_ptr<Dispatch>, kServerClasses> dispatch_;
  std::optional<Pollers> pollers_;
  std::unordered_map<std::string, size_t> by_name_;
  std::set<size_t> waiting_;         // Services whose queues are not empty.
  std::vector<size_t> unreachable_;  // Instances that were not started, when last looked at.
  std::vector<QueueView> views_;     // Of the choice that is being made.
  int instances_running_ = 0;
  bool wakes_ = false;  // The host has been told to wake us at answers.
  Duration worst_lag_{0};
};

}  // namespace cosched
