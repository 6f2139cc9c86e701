#include "experiments/harness/dispatcher.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cosched {

Dispatcher::Dispatcher(std::vector<ServiceSetup> services, const RequestTrace& trace,
                       ObservedHost& host, const Arbiter& arbiter, CellRecords& records)
    : trace_(trace), host_(host), arbiter_(arbiter), records_(records) {
  for (ServiceSetup& setup : services) {
    by_name_[setup.name] = services_.size();
    windows_.AddService(setup.name, setup.objective.value_or(Duration(0)));
    services_.emplace_back().setup = std::move(setup);
  }
}

void Dispatcher::AddServer(ServiceId service, JobId job) {
  const auto at = static_cast<size_t>(service.value);
  CHECK(at < services_.size()) << "job " << job.value << " is of service " << service.value;
  by_job_[job.value] = {at, services_[at].servers.size()};
  services_[at].servers.emplace_back().job = job;
  windows_.AddServer(at, job);
}

ServiceId Dispatcher::SetObjective(const std::string& service, Duration objective) {
  const size_t at = by_name_.at(service);
  windows_.SetObjective(at, objective);
  return {static_cast<int64_t>(at)};
}

bool Dispatcher::SomeServerRuns() const {
  return std::any_of(services_.begin(), services_.end(), [this](const Service& service) {
    return std::any_of(service.servers.begin(), service.servers.end(),
                       [this](const Server& server) { return Takes(server); });
  });
}

void Dispatcher::Send(TimePoint now, bool jobs_over) {
  if (services_.empty()) return;
  while (!AllSent() && NextDue() <= now) TakeUp(static_cast<int64_t>(next_++), now);
  for (size_t i = 0; i < services_.size(); ++i) {
    Dispatch(i, now);
    if (jobs_over && AllSent() && services_[i].queue.empty()) Drain(&services_[i]);
  }
  TellHost();
}

void Dispatcher::TakeUp(int64_t id, TimePoint now) {
  const RequestArrival& request = trace_[static_cast<size_t>(id)];
  worst_lag_ = std::max(worst_lag_, now - TimePoint(request.time));
  const auto found = by_name_.find(request.service);
  CHECK(found != by_name_.end() && !services_[found->second].servers.empty())
      << "request " << id << " is for nobody: " << request.service;
  Service& service = services_[found->second];
  if (service.over)
    return Record(service, {.id = id, .job = service.servers.front().job, .taken = now});
  windows_.Arrived(found->second);
  service.queue.push_back({id, now});
}

void Dispatcher::Dispatch(size_t index, TimePoint now) {
  Service& service = services_[index];
  while (!service.queue.empty()) {
    const std::optional<size_t> to = NextServer(service);
    if (!to) return;
    Server& server = service.servers[*to];
    const Waiting waiting = service.queue.front();
    service.queue.pop_front();
    const RequestArrival& request = trace_[static_cast<size_t>(waiting.id)];
    server.requests.emplace_hint(server.requests.end(), waiting.id, InFlight{waiting.taken, now});
    server.last_turn = ++turns_;
    windows_.Dispatched(index, *to, now);
    host_.Send(server.job,
               {.id = waiting.id,
                .scheduled = TimePoint(request.time),
                .work = request.work,
                .service = {static_cast<int64_t>(index)}});
  }
}

std::optional<size_t> Dispatcher::NextServer(const Service& service) const {
  std::optional<size_t> best;
  for (size_t i = 0; i < service.servers.size(); ++i) {
    const Server& server = service.servers[i];
    if (!Takes(server) || server.draining) continue;
    const size_t has = server.requests.size();
    if (service.setup.in_flight && has >= static_cast<size_t>(*service.setup.in_flight)) continue;
    if (best) {
      const Server& other = service.servers[*best];
      if (std::pair(other.requests.size(), other.last_turn) <= std::pair(has, server.last_turn))
        continue;
    }
    best = i;
  }
  return best;
}

void Dispatcher::Drain(Service* service) {
  for (Server& server : service->servers) {
    if (!Takes(server) || server.draining) continue;
    server.draining = true;
    host_.Drain(server.job);
  }
}

// Answers make room: while somebody waits for it, they are worth waking up for.
void Dispatcher::TellHost() {
  const bool waits = std::any_of(services_.begin(), services_.end(), [this](const Service& one) {
    return !one.queue.empty() &&
           std::any_of(one.servers.begin(), one.servers.end(),
                       [this](const Server& server) { return Takes(server); });
  });
  if (waits != wakes_) host_.WakeAtAnswers(waits);
  wakes_ = waits;
}

void Dispatcher::Answered(const std::vector<RequestSample>& samples) {
  for (const RequestSample& sample : samples) {
    const auto job = std::get<JobId>(sample.server);
    const auto place = by_job_.find(job.value);
    CHECK(place != by_job_.end()) << "job " << job.value << " answers, but serves nobody";
    const auto [service, server] = place->second;
    auto& requests = services_[service].servers[server].requests;
    const auto sent = requests.find(sample.id);
    CHECK(sent != requests.end()) << "request " << sample.id
                                  << " is answered again, or was never sent";
    const auto [taken, dispatched] = sent->second;
    windows_.Answered(service, server, sample.scheduled, dispatched, sample.finished);
    Record(services_[service], {.id = sample.id,
                                .job = job,
                                .taken = taken,
                                .dispatched = dispatched,
                                .answer = &sample});
    requests.erase(sent);
  }
}

bool Dispatcher::ServerEnded(JobId job) {
  const auto place = by_job_.find(job.value);
  if (place == by_job_.end()) return false;
  EndServer(place->second);
  Service& service = services_[place->second.first];
  service.over = std::all_of(service.servers.begin(), service.servers.end(),
                             [](const Server& server) { return server.ended; });
  if (service.over) DropQueue(place->second.first);
  return true;
}

void Dispatcher::DropAll() {
  for (size_t i = 0; i < services_.size(); ++i) {
    for (size_t server = 0; server < services_[i].servers.size(); ++server) EndServer({i, server});
    DropQueue(i);
  }
}

void Dispatcher::EndServer(const Place& place) {
  Service& service = services_[place.first];
  Server& server = service.servers[place.second];
  if (std::exchange(server.ended, true)) return;
  windows_.Ended(place.first, place.second);
  for (const auto& [id, sent] : server.requests) {
    Record(service,
           {.id = id, .job = server.job, .taken = sent.taken, .dispatched = sent.dispatched});
  }
  server.requests.clear();
}

void Dispatcher::DropQueue(size_t index) {
  Service& service = services_[index];
  for (const Waiting& waiting : service.queue) {
    Record(service, {.id = waiting.id, .job = service.servers.front().job, .taken = waiting.taken});
  }
  service.queue.clear();
  windows_.QueueDropped(index);
}

void Dispatcher::Record(const Service& service, const Fate& fate) {
  const RequestArrival& request = trace_[static_cast<size_t>(fate.id)];
  records_.OnRequest({.id = fate.id,
                      .job = fate.job,
                      .service = service.setup.name,
                      .scheduled = TimePoint(request.time),
                      .sent = fate.taken,
                      .dispatched = fate.dispatched,
                      .work = request.work,
                      .slo = request.slo ? request.slo : service.setup.slo,
                      .answer = fate.answer});
}

}  // namespace cosched
