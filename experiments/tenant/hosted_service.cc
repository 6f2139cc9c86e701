#include "experiments/tenant/hosted_service.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "experiments/wire/packet_socket.h"

namespace cosched {
namespace {

constexpr double kMostRuns = 1e6;

// Blocks until the host has read what was sent to it, up to a quarter of the socket's buffer: the
// control thread's messages must always find room. False if the host is gone.
bool WaitForRoom(int socket) {
  pollfd descriptor{socket, POLLOUT, 0};
  while (poll(&descriptor, 1, -1) < 0) {
  }
  return (descriptor.revents & (POLLHUP | POLLERR)) == 0;
}

// Several lanes may see the room that is enough for one: who comes too late waits again, because an
// answer is sent once.
void SendWhenThereIsRoom(int socket, const std::string& packet) {
  while (WaitForRoom(socket)) {
    if (SendPacket(socket, packet)) return;
  }
}

}  // namespace

void HostedService::Open(const ServiceSettings& settings) {
  service_ = std::make_unique<InferenceService>(settings,
                                                [this](const ServedBatch& batch) { Send(batch); });
}

// Fractions of a run can't be done, nor less than one.
void HostedService::Take(const RequestPacket& packet) {
  const auto now = std::chrono::steady_clock::now();
  std::vector<ServiceQuery> queries;
  queries.reserve(packet.work.size());
  for (const double work : packet.work) {
    const auto runs = static_cast<int>(std::lround(std::clamp(work, 1.0, kMostRuns)));
    queries.push_back({.number = packet.first + queries.size(), .runs = runs, .received = now});
  }
  service_->Submit(queries);
}

void HostedService::Send(const ServedBatch& batch) {
  const auto size = static_cast<int64_t>(batch.queries.size());
  counters_->AddAnswers(size);
  meter_->Add(batch.started, batch.finished, static_cast<int>(size));
  for (size_t first = 0; first < batch.queries.size(); first += kMostAnswers) {
    AnsweredBatch part{.started = batch.started.time_since_epoch(),
                       .finished = batch.finished.time_since_epoch(),
                       .size = size,
                       .answers = {}};
    const size_t end = std::min(first + kMostAnswers, batch.queries.size());
    part.answers.reserve(end - first);
    for (size_t i = first; i < end; ++i)
      part.answers.push_back(
          {batch.queries[i].number, batch.queries[i].received.time_since_epoch()});
    AnswerPacket packet;
    packet.batches.push_back(std::move(part));
    SendWhenThereIsRoom(socket_, Encode(packet));
  }
}

}  // namespace cosched
