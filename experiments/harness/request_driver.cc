#include "experiments/harness/request_driver.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cosched {

void RequestDriver::AddService(JobId job, const std::string& name, std::optional<Duration> slo) {
  Service& service = services_.emplace_back();
  service.job = job;
  service.name = name;
  service.slo = slo;
}

bool RequestDriver::SomeServiceRuns() const {
  return std::any_of(services_.begin(), services_.end(), [this](const Service& service) {
    return !service.ended && arbiter_.IsAtHost(service.job);
  });
}

void RequestDriver::Send(TimePoint now, bool jobs_over) {
  if (services_.empty()) return;
  while (!AllSent() && NextDue() <= now) TakeUp(static_cast<int64_t>(next_++), now);
  for (Service& service : services_) {
    if (service.ended || !arbiter_.IsAtHost(service.job)) continue;
    Deliver(&service);
    if (!jobs_over || !AllSent() || service.draining) continue;
    service.draining = true;
    host_.Drain(service.job);
  }
}

void RequestDriver::TakeUp(int64_t id, TimePoint now) {
  const RequestArrival& request = trace_[static_cast<size_t>(id)];
  worst_lag_ = std::max(worst_lag_, now - TimePoint(request.time));
  const auto service = std::find_if(services_.begin(), services_.end(), [&](const Service& one) {
    return one.name == request.service;
  });
  CHECK(service != services_.end()) << "request " << id << " is for nobody: " << request.service;
  if (service->ended) return Record(*service, id, now, nullptr);
  service->unanswered.emplace(id, now);
  service->held.push_back(id);
}

void RequestDriver::Deliver(Service* service) {
  for (const int64_t id : service->held) {
    const RequestArrival& request = trace_[static_cast<size_t>(id)];
    host_.Send(service->job,
               {.id = id, .scheduled = TimePoint(request.time), .work = request.work});
  }
  service->held.clear();
}

void RequestDriver::Answered(const std::vector<RequestSample>& samples) {
  for (const RequestSample& sample : samples) {
    const auto service = std::find_if(services_.begin(), services_.end(),
                                      [&](const Service& one) { return one.job == sample.job; });
    CHECK(service != services_.end())
        << "job " << sample.job.value << " answers, but serves nobody";
    const auto sent = service->unanswered.find(sample.id);
    CHECK(sent != service->unanswered.end())
        << "request " << sample.id << " is answered again, or was never sent";
    Record(*service, sample.id, sent->second, &sample);
    service->unanswered.erase(sent);
  }
}

void RequestDriver::ServiceEnded(JobId job) {
  for (Service& service : services_) {
    if (service.job == job && !service.ended) Drop(&service);
  }
}

void RequestDriver::DropAll() {
  for (Service& service : services_) {
    if (!service.ended) Drop(&service);
  }
}

void RequestDriver::Drop(Service* service) {
  service->ended = true;
  for (const auto& [id, sent] : service->unanswered) Record(*service, id, sent, nullptr);
  service->unanswered.clear();
  service->held.clear();
}

void RequestDriver::Record(const Service& service, int64_t id, TimePoint sent,
                           const RequestSample* answer) {
  const RequestArrival& request = trace_[static_cast<size_t>(id)];
  records_.OnRequest({.id = id,
                      .job = service.job,
                      .service = service.name,
                      .scheduled = TimePoint(request.time),
                      .sent = sent,
                      .work = request.work,
                      .slo = request.slo ? request.slo : service.slo,
                      .answer = answer});
}

}  // namespace cosched
