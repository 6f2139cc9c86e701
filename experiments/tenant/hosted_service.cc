#include "experiments/tenant/hosted_service.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "experiments/tenant/answers.h"

namespace cosched {
namespace {

constexpr double kMostRuns = 1e6;

}  // namespace

HostedService::HostedService(const ServiceSettings& settings, int socket, SharedCounters* counters,
                             StepMeter* meter)
    : socket_(socket),
      counters_(counters),
      meter_(meter),
      service_(settings, [this](const ServedBatch& batch) { Send(batch); }) {}

// Fractions of a run can't be done, nor less than one.
void HostedService::Take(const RequestPacket& packet) {
  const auto now = std::chrono::steady_clock::now();
  std::vector<ServiceQuery> queries;
  queries.reserve(packet.work.size());
  for (const double work : packet.work) {
    const auto runs = static_cast<int>(std::lround(std::clamp(work, 1.0, kMostRuns)));
    queries.push_back({.number = packet.first + queries.size(), .runs = runs, .received = now});
  }
  service_.Submit(queries);
}

void HostedService::Send(const ServedBatch& batch) {
  const auto size = static_cast<int64_t>(batch.queries.size());
  counters_->AddAnswers(size);
  meter_->Add(batch.started, batch.finished, static_cast<int>(size));
  AnsweredBatch answers{.started = batch.started.time_since_epoch(),
                        .finished = batch.finished.time_since_epoch(),
                        .size = size,
                        .answers = {}};
  answers.answers.reserve(batch.queries.size());
  for (const ServiceQuery& query : batch.queries)
    answers.answers.push_back({query.number, query.received.time_since_epoch()});
  SendAnswers(socket_, std::move(answers));
}

}  // namespace cosched
