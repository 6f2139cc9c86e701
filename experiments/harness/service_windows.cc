#include "experiments/harness/service_windows.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace cosched {
namespace {

Duration Mean(Duration sum, int64_t count) { return count > 0 ? sum / count : Duration(0); }

}  // namespace

void ServiceWindows::AddService(std::string name, Duration objective) {
  services_.emplace_back();
  ServiceView& view = views_.emplace_back();
  view.id = {static_cast<int64_t>(views_.size()) - 1};
  view.name = std::move(name);
  view.objective = objective;
}

void ServiceWindows::AddServer(size_t service, ServerId id) {
  services_[service].servers.emplace_back().id = id;
  views_[service].servers.emplace_back(id, ServerWindow());
}

void ServiceWindows::SetObjective(size_t service, Duration objective) {
  views_[service].objective = objective;
}

void ServiceWindows::Arrived(size_t service, double work) {
  ++services_[service].arrived;
  services_[service].work += work;
  ++services_[service].queued;
}

void ServiceWindows::Dispatched(size_t service, size_t server, TimePoint now) {
  --services_[service].queued;
  Server& to = services_[service].servers[server];
  ++to.window.dispatched;
  ++to.window.in_flight;
  to.requests_s -= ToSeconds(now - begin_);
}

void ServiceWindows::Answered(size_t service, size_t server, TimePoint due, TimePoint dispatched,
                              TimePoint finished) {
  Server& by = services_[service].servers[server];
  ++by.window.answered;
  --by.window.in_flight;
  by.responses += finished - due;
  by.processes += finished - dispatched;
  by.requests_s += ToSeconds(finished - begin_);
}

void ServiceWindows::Ended(size_t service, size_t server) {
  services_[service].servers[server].ended = true;
  std::erase_if(views_[service].servers, [id = services_[service].servers[server].id](
                                             const auto& one) { return one.first == id; });
}

int64_t ServiceWindows::InFlight(size_t service) const {
  int64_t requests = 0;
  for (const Server& server : services_[service].servers)
    if (!server.ended) requests += server.window.in_flight;
  return requests;
}

void ServiceWindows::QueueDropped(size_t service) { services_[service].queued = 0; }

void ServiceWindows::Close(TimePoint now, const std::function<Duration(JobId)>& cpu_time,
                           const std::function<PipelineCounters(JobId)>& pipeline) {
  const Duration length = now - std::exchange(begin_, now);
  for (size_t service = 0; service < services_.size(); ++service) {
    for (Server& server : services_[service].servers) {
      const auto* job = std::get_if<JobId>(&server.id);
      if (job == nullptr || server.ended) continue;
      const Duration used = std::max(server.cpu_time, cpu_time(*job));
      server.window.cpu_time = used - std::exchange(server.cpu_time, used);
      CloseStages(pipeline(*job), &server);
    }
    CloseService(service, length);
  }
}

void ServiceWindows::CloseStages(const PipelineCounters& pipeline, Server* server) {
  server->window.open = pipeline.open;
  server->stages.resize(pipeline.stages.size());
  for (size_t i = 0; i < pipeline.stages.size(); ++i) {
    const StageCounters& now = pipeline.stages[i];
    const StageCounters before = std::exchange(server->stages[i], now);
    server->window.stages.push_back({.ready = now.ready,
                                     .running = now.running,
                                     .parked = now.parked,
                                     .items = now.items,
                                     .calls = std::max(now.calls, before.calls) - before.calls,
                                     .taken = std::max(now.taken, before.taken) - before.taken,
                                     .busy = std::max(now.busy, before.busy) - before.busy,
                                     .lasted = std::max(now.lasted, before.lasted) - before.lasted,
                                     .waits = now.waits});
  }
}

void ServiceWindows::CloseService(size_t service, Duration length) {
  Service& open = services_[service];
  ServiceView& view = views_[service];
  view.length = length;
  view.arrived = std::exchange(open.arrived, 0);
  const double work = std::exchange(open.work, 0);
  view.mean_work = view.arrived > 0 ? work / static_cast<double>(view.arrived) : 0;
  view.queued = open.queued;
  view.answered = 0;
  view.servers.clear();
  Duration responses{0};
  for (Server& server : open.servers) {
    view.answered += server.window.answered;
    responses += server.responses;
    CloseServer(&server, length);
    if (!server.ended) view.servers.emplace_back(server.id, server.window);
    server.window = {.dispatched = 0, .answered = 0, .in_flight = server.window.in_flight};
  }
  view.mean_response = Mean(responses, view.answered);
}

void ServiceWindows::CloseServer(Server* server, Duration length) {
  ServerWindow& window = server->window;
  const double still_s = ToSeconds(length) * static_cast<double>(window.in_flight);
  if (length > Duration::zero())
    window.mean_in_flight = (std::exchange(server->requests_s, 0) + still_s) / ToSeconds(length);
  window.mean_response = Mean(std::exchange(server->responses, Duration(0)), window.answered);
  window.mean_process = Mean(std::exchange(server->processes, Duration(0)), window.answered);
}

}  // namespace cosched
