#pragma once
// The clients of a cell's services: sends each request of the trace when it is due, whatever became
// of those before (an open loop), and accounts for every one of them: it is answered, or dropped
// because its service is gone. Requests for a service that has not started wait here; latencies
// count from when they were due all the same. Once the whole trace is over each service is drained,
// so that it ends when its queue is empty. Called by the harness (experiments/harness/harness.h),
// one thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/records/cell_records.h"
#include "policies/arbiter.h"
#include "policies/host.h"
#include "traces/arrivals/request_arrival.h"

namespace cosched {

class RequestDriver {
 public:
  // All references outlive it.
  RequestDriver(const RequestTrace& trace, Host& host, const Arbiter& arbiter, CellRecords& records)
      : trace_(trace), host_(host), arbiter_(arbiter), records_(records) {}

  // A service of that name was submitted. slo: of its requests that have none of their own.
  void AddService(JobId job, const std::string& name, std::optional<Duration> slo);

  bool AllSent() const { return next_ == trace_.size(); }
  TimePoint NextDue() const { return TimePoint(trace_[next_].time); }  // REQUIRES: !AllSent().
  // Takes up what is due, hands services that have started what waits for them. jobs_over: no job
  // is to come either, so that services may end.
  void Send(TimePoint now, bool jobs_over);
  void Answered(const std::vector<RequestSample>& samples);
  void ServiceEnded(JobId job);  // Nobody answers its requests any more. Other jobs are ignored.
  // The cell is over: what was sent and not answered is dropped.
  void DropAll();

  Duration WorstLag() const { return worst_lag_; }  // Between due and taken up.
  bool SomeServiceRuns() const;  // A service was started and has not ended; it may be paused.

 private:
  struct Service {
    JobId job;
    std::string name;
    std::optional<Duration> slo;
    bool ended = false;
    bool draining = false;
    std::vector<int64_t> held;                // Until it starts; in order.
    std::map<int64_t, TimePoint> unanswered;  // Taken up when, by request; held ones too.
  };
  void TakeUp(int64_t id, TimePoint now);
  void Deliver(Service* service);
  void Drop(Service* service);
  void Record(const Service& service, int64_t id, TimePoint sent, const RequestSample* answer);

  const RequestTrace& trace_;
  Host& host_;
  const Arbiter& arbiter_;
  CellRecords& records_;
  std::vector<Service> services_;
  size_t next_ = 0;
  Duration worst_lag_{0};
};

}  // namespace cosched
