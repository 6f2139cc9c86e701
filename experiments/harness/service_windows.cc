#include "experiments/harness/service_windows.h"

#include <utility>

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

void ServiceWindows::Arrived(size_t service) {
  ++services_[service].arrived;
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

void ServiceWindows::QueueDropped(size_t service) { services_[service].queued = 0; }

void ServiceWindows::Close(TimePoint now) {
  const Duration length = now - std::exchange(begin_, now);
  for (size_t service = 0; service < services_.size(); ++service) CloseService(service, length);
}

void ServiceWindows::CloseService(size_t service, Duration length) {
  Service& open = services_[service];
  ServiceView& view = views_[service];
  view.length = length;
  view.arrived = std::exchange(open.arrived, 0);
  view.queued = open.queued;
  view.answered = 0;
  view.servers.clear();
  Duration responses{0};
  for (Server& server : open.servers) {
    const int64_t answered = server.window.answered;
    view.answered += answered;
    responses += server.responses;
    const double still_s = ToSeconds(length) * static_cast<double>(server.window.in_flight);
    if (length > Duration::zero())
      server.window.mean_in_flight =
          (std::exchange(server.requests_s, 0) + still_s) / ToSeconds(length);
    server.window.mean_response = Mean(std::exchange(server.responses, Duration(0)), answered);
    server.window.mean_process = Mean(std::exchange(server.processes, Duration(0)), answered);
    if (!server.ended) view.servers.emplace_back(server.id, server.window);
    server.window = {.dispatched = 0, .answered = 0, .in_flight = server.window.in_flight};
  }
  view.mean_response = Mean(responses, view.answered);
}

}  // namespace cosched
