#include "experiments/harness/dispatcher.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

ServiceId IdOf(size_t service) { return {static_cast<int64_t>(service)}; }

// Of one request alone on an idle device.
Duration ResponseOf(const DeviceProfile::Model& model) {
  return FromSeconds(model.host_cpu_s + model.host_wait_s +
                     MeanOf(model.occupancy_s.begin()->second));
}

}  // namespace

Dispatcher::Dispatcher(DispatcherSetup setup, const RequestTrace& trace,
                       const std::vector<ClientScript>& clients, ObservedHost& host,
                       const Arbiter& arbiter, CellRecords& records)
    : source_(trace, clients),
      host_(host),
      arbiter_(arbiter),
      records_(records),
      servers_(setup.services.size()),
      dispatch_(std::move(setup.dispatch)) {
  for (ServiceSetup& service : setup.services) {
    by_name_[service.name] = services_.size();
    windows_.AddService(service.name, service.objective.value_or(Duration(0)));
    services_.emplace_back().setup = std::move(service);
  }
  if (setup.polling) pollers_.emplace(*setup.polling);
  for (const DeviceSetup& device : setup.devices) AddDevice(device);
  if (pollers_) AddPollers();
}

void Dispatcher::AddDevice(const DeviceSetup& device) {
  host_.AddDevice(device.spec);
  ServerTable::Server server{.id = device.spec.id,
                             .kind = ServerClass::kDevice,
                             .device = device.spec.name,
                             .room = device.in_flight};
  for (size_t service = 0; service < device.spec.services.size(); ++service) {
    if (!device.spec.services[service]) continue;
    server.services.push_back(service);
    server.unit_response.push_back(
        ResponseOf(*device.spec.profile->Find(device.spec.services[service]->model)));
  }
  servers_.SetReachable(AddServer(std::move(server)));
}

// A poller of instances has all services, one of devices those that some device has.
void Dispatcher::AddPollers() {
  std::vector<size_t> all(services_.size());
  std::iota(all.begin(), all.end(), 0);
  pollers_->Add(ServerClass::kCpu, dispatch_[static_cast<size_t>(ServerClass::kCpu)].get(), JobId{},
                all);
  std::set<size_t> served;
  for (size_t i = 0; i < servers_.Size(); ++i)
    served.insert(servers_[i].services.begin(), servers_[i].services.end());
  if (served.empty()) return;
  pollers_->Add(ServerClass::kDevice, dispatch_[static_cast<size_t>(ServerClass::kDevice)].get(),
                servers_[0].id, {served.begin(), served.end()});
}

size_t Dispatcher::AddServer(ServerTable::Server server) {
  for (const size_t service : server.services) {
    server.places.push_back(services_[service].servers.size());
    services_[service].servers.push_back(servers_.Size());
    windows_.AddServer(service, server.id);
  }
  return servers_.Add(std::move(server));
}

void Dispatcher::AddInstance(ServiceId service, JobId job) {
  const auto at = static_cast<size_t>(service.value);
  CHECK(at < services_.size()) << "job " << job.value << " is of service " << service.value;
  if (!services_[at].first_instance) services_[at].first_instance = job;
  unreachable_.push_back(
      AddServer({.id = job, .services = {at}, .room = services_[at].setup.in_flight}));
}

ServiceId Dispatcher::SetObjective(const std::string& service, Duration objective) {
  const size_t at = by_name_.at(service);
  windows_.SetObjective(at, objective);
  services_[at].setup.objective = objective;
  return IdOf(at);
}

// The arbiter starts instances when it likes.
void Dispatcher::ReachInstances() {
  std::erase_if(unreachable_, [this](size_t index) {
    if (servers_[index].ended) return true;
    if (!arbiter_.IsAtHost(std::get<JobId>(servers_[index].id))) return false;
    servers_.SetReachable(index);
    ++instances_running_;
    return true;
  });
}

std::optional<size_t> Dispatcher::ServerOf(size_t service, ServerClass kind) const {
  for (const size_t index : services_[service].servers) {
    const ServerTable::Server& server = servers_[index];
    if (server.kind == kind && server.reachable && !server.ended) return index;
  }
  return std::nullopt;
}

bool Dispatcher::HasServer(size_t service) const {
  return ServerOf(service, ServerClass::kCpu) || ServerOf(service, ServerClass::kDevice);
}

bool Dispatcher::IsOver(const Service& service) const {
  return std::all_of(service.servers.begin(), service.servers.end(),
                     [this](size_t index) { return servers_[index].ended; });
}

bool Dispatcher::Starves() const {
  if (waiting_.empty() || source_.NextDue() || arbiter_.InTransition()) return false;
  for (size_t i = 0; i < servers_.Size(); ++i)
    if (!servers_[i].requests.empty()) return false;
  return std::none_of(waiting_.begin(), waiting_.end(),
                      [this](size_t service) { return HasServer(service); });
}

bool Dispatcher::DevicesIdle() const {
  for (size_t i = 0; i < servers_.Size(); ++i) {
    const ServerTable::Server& server = servers_[i];
    if (server.kind != ServerClass::kDevice || server.ended) continue;
    const bool waits = std::any_of(server.services.begin(), server.services.end(),
                                   [this](size_t one) { return waiting_.contains(one); });
    if (waits || !server.requests.empty()) return false;
  }
  return true;
}

std::optional<TimePoint> Dispatcher::NextDue() const {
  std::optional<TimePoint> due = source_.NextDue();
  if (!pollers_) return due;
  const std::optional<TimePoint> poll = pollers_->Next([this](size_t service, ServerClass kind) {
    return waiting_.contains(service) && ServerOf(service, kind);
  });
  return due && poll ? std::min(due, poll) : due ? due : poll;
}

void Dispatcher::Send(TimePoint now, bool jobs_over) {
  if (services_.empty()) return;
  if (pollers_) Poll(now);  // What was due before the newcomers are there.
  ReachInstances();
  TakeUp(now);
  pollers_ ? Poll(now) : Match(now);
  if (jobs_over && (source_.AllTaken() || Starves())) {
    for (size_t i = 0; i < services_.size(); ++i)
      if (!waiting_.contains(i)) Drain(services_[i]);
  }
  TellHost();
}

void Dispatcher::TakeUp(TimePoint now) {
  for (auto due = source_.NextDue(); due && *due <= now; due = source_.NextDue()) {
    const int64_t id = source_.Take();
    const RequestArrival& request = source_.At(id);
    worst_lag_ = std::max(worst_lag_, now - *due);
    const auto found = by_name_.find(request.service);
    CHECK(found != by_name_.end() && !services_[found->second].servers.empty())
        << "request " << id << " is for nobody: " << request.service;
    Service& service = services_[found->second];
    if (IsOver(service)) {
      Record(service, {.id = id, .taken = now});
      source_.Over(id, now);
      continue;
    }
    windows_.Arrived(found->second, request.work);
    service.queue.Push({.id = id,
                        .due = *due,
                        .taken = now,
                        .work = request.work,
                        .slo = request.slo ? request.slo : service.setup.slo});
    waiting_.insert(found->second);
  }
}

void Dispatcher::Match(TimePoint now) {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const size_t service = *next;
    const std::optional<size_t> server = servers_.Next(service);
    if (!server) {
      ++next;
      continue;
    }
    Give(Choose(*server, now), *server, now);
    next = waiting_.lower_bound(service);  // It may have become empty, as may others.
  }
}

void Dispatcher::Poll(TimePoint now) {
  // For a queue that no server of its class may take from a poller would wait for ever, and keep
  // others waiting.
  const auto look = [&](size_t service, ServerClass kind) {
    if (const std::optional<size_t> server = ServerOf(service, kind))
      return View(service, *server, now);
    QueueView none;
    none.service = IdOf(service);
    return none;
  };
  const auto hand = [&](size_t service, ServerClass kind) {
    const std::optional<size_t> server = servers_.Next(service, kind);
    if (server) Give(service, *server, now);
    return server.has_value();
  };
  pollers_->Run(now, look, hand);
}

size_t Dispatcher::Choose(size_t index, TimePoint now) {
  const ServerTable::Server& server = servers_[index];
  if (server.services.size() == 1) return server.services.front();
  views_.clear();
  for (const size_t service : server.services) {
    if (waiting_.contains(service)) views_.push_back(View(service, index, now));
  }
  const size_t choice = dispatch_[static_cast<size_t>(server.kind)]->Next(views_, server.id, now);
  CHECK(choice < views_.size()) << "a dispatch picks queue " << choice << " of " << views_.size();
  return static_cast<size_t>(views_[choice].service.value);
}

QueueView Dispatcher::View(size_t service, size_t server, TimePoint now) const {
  QueueView view = services_[service].queue.View(IdOf(service), now);
  view.objective = services_[service].setup.objective.value_or(Duration(0));
  view.expected = Expected(service, server);
  return view;
}

// Of the request at the front, or of one of a unit of work.
std::optional<Duration> Dispatcher::Expected(size_t service, size_t index) const {
  const FrontQueue& queue = services_[service].queue;
  const double work = queue.Empty() ? 1 : queue.Front().work;
  const ServerTable::Server& server = servers_[index];
  if (server.kind == ServerClass::kDevice)
    return FromSeconds(work * ToSeconds(server.unit_response[server.IndexOf(service)]));
  const JobView* job = arbiter_.View().Find(std::get<JobId>(server.id));
  if (job == nullptr || !job->speed) return std::nullopt;
  return FromSeconds(work / job->speed->At(std::max(1, job->amount.Threads())));
}

void Dispatcher::Give(size_t index, size_t to, TimePoint now) {
  Service& service = services_[index];
  const FrontQueue::Waiting request = service.queue.Pop();
  if (service.queue.Empty()) waiting_.erase(index);
  servers_.Give(to, request.id, {.taken = request.taken, .dispatched = now});
  const ServerTable::Server& server = servers_[to];
  windows_.Dispatched(index, server.places[server.IndexOf(index)], now);
  host_.Send(
      server.id,
      {.id = request.id, .scheduled = request.due, .work = request.work, .service = IdOf(index)});
}

void Dispatcher::Drain(const Service& service) {
  for (const size_t index : service.servers) {
    const ServerTable::Server& server = servers_[index];
    if (server.kind != ServerClass::kCpu || !server.reachable || server.ended || server.draining)
      continue;
    servers_.Drain(index);
    host_.Drain(std::get<JobId>(server.id));
  }
}

// Answers make room, and let clients go on: while somebody waits for that, they are worth waking up
// for.
void Dispatcher::TellHost() {
  const bool waits =
      source_.WaitsForAnswers() || (source_.AllTaken() && !DevicesIdle()) ||
      std::any_of(waiting_.begin(), waiting_.end(), [this](size_t one) { return HasServer(one); });
  if (waits != wakes_) host_.WakeAtAnswers(waits);
  wakes_ = waits;
}

void Dispatcher::Answered(const std::vector<RequestSample>& samples) {
  for (const RequestSample& sample : samples) {
    const size_t index = servers_.IndexOf(sample.server);
    const InFlight request = servers_.TakeBack(index, sample.id);
    const ServerTable::Server& server = servers_[index];
    const size_t at = by_name_.at(source_.At(sample.id).service);
    windows_.Answered(at, server.places[server.IndexOf(at)], sample.scheduled, request.dispatched,
                      sample.finished);
    services_[at].queue.Answered(sample.finished - sample.scheduled);
    Record(services_[at], {.id = sample.id,
                           .server = &server,
                           .taken = request.taken,
                           .dispatched = request.dispatched,
                           .answer = &sample});
    source_.Over(sample.id, sample.finished);
  }
}

bool Dispatcher::ServerEnded(const ServerId& id) {
  const std::optional<size_t> index = servers_.Find(id);
  if (!index) return false;
  EndServer(*index);
  for (const size_t service : servers_[*index].services)
    if (IsOver(services_[service])) DropQueue(service);
  return true;
}

void Dispatcher::DropAll() {
  for (size_t server = 0; server < servers_.Size(); ++server) EndServer(server);
  for (size_t service = 0; service < services_.size(); ++service) DropQueue(service);
}

// Clients hear of a loss when it happens.
void Dispatcher::EndServer(size_t index) {
  const TimePoint now = host_.GetClock().Now();
  const ServerTable::Server& server = servers_[index];
  if (server.ended) return;
  if (server.kind == ServerClass::kCpu && server.reachable) --instances_running_;
  for (const size_t service : server.services)
    windows_.Ended(service, server.places[server.IndexOf(service)]);
  for (const auto& [id, request] : servers_.End(index)) {
    const size_t service = by_name_.at(source_.At(id).service);
    Record(services_[service],
           {.id = id, .server = &server, .taken = request.taken, .dispatched = request.dispatched});
    source_.Over(id, now);
  }
}

void Dispatcher::DropQueue(size_t index) {
  Service& service = services_[index];
  const TimePoint now = host_.GetClock().Now();
  while (!service.queue.Empty()) {
    const FrontQueue::Waiting request = service.queue.Pop();
    Record(service, {.id = request.id, .taken = request.taken});
    source_.Over(request.id, now);
  }
  waiting_.erase(index);
  windows_.QueueDropped(index);
}

// A request that never had a server is recorded with its service's first instance.
void Dispatcher::Record(const Service& service, const Fate& fate) {
  const RequestArrival& request = source_.At(fate.id);
  const bool by_device = fate.server && fate.server->kind == ServerClass::kDevice;
  std::optional<JobId> job = service.first_instance;
  if (fate.server) job.reset();
  if (fate.server && !by_device) job = std::get<JobId>(fate.server->id);
  records_.OnRequest(
      {.id = fate.id,
       .job = job,
       .device = by_device ? std::string_view(fate.server->device) : std::string_view(),
       .service = service.setup.name,
       .scheduled = TimePoint(request.time),
       .sent = fate.taken,
       .dispatched = fate.dispatched,
       .work = request.work,
       .slo = request.slo ? request.slo : service.setup.slo,
       .answer = fate.answer});
}

}  // namespace cosched
