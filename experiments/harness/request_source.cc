#include "experiments/harness/request_source.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cosched {

RequestSource::RequestSource(const RequestTrace& trace, const std::vector<ClientScript>& clients)
    : trace_(trace), clients_(clients), progress_(clients.size()) {
  for (size_t client = 0; client < clients.size(); ++client) {
    if (clients[client].requests.empty()) continue;
    ++asking_clients_;
    thinking_.emplace(TimePoint(clients[client].requests.front().time), client);
  }
}

std::optional<TimePoint> RequestSource::NextDue() const {
  std::optional<TimePoint> due;
  if (next_ < trace_.size()) due = TimePoint(trace_[next_].time);
  if (thinking_.empty()) return due;
  return due ? std::min(*due, thinking_.top().first) : thinking_.top().first;
}

int64_t RequestSource::Take() {
  const bool is_open =
      next_ < trace_.size() &&
      (thinking_.empty() || TimePoint(trace_[next_].time) <= thinking_.top().first);
  if (is_open) return static_cast<int64_t>(next_++);
  CHECK(!thinking_.empty()) << "nobody asks";
  const auto [due, client] = thinking_.top();
  thinking_.pop();
  const std::vector<RequestArrival>& script = clients_[client].requests;
  asked_.push_back({client, script[progress_[client]++]});
  asked_.back().request.time = due.time_since_epoch();
  if (progress_[client] == script.size()) --asking_clients_;
  return static_cast<int64_t>(trace_.size() + asked_.size()) - 1;
}

const RequestArrival& RequestSource::At(int64_t id) const {
  const auto index = static_cast<size_t>(id);
  return index < trace_.size() ? trace_[index] : asked_[index - trace_.size()].request;
}

void RequestSource::Over(int64_t id, TimePoint time) {
  const auto index = static_cast<size_t>(id);
  if (index < trace_.size()) return;
  const size_t client = asked_[index - trace_.size()].client;
  const std::vector<RequestArrival>& script = clients_[client].requests;
  if (progress_[client] < script.size())
    thinking_.emplace(time + script[progress_[client]].time, client);
}

}  // namespace cosched
