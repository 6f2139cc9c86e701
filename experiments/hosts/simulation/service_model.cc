#include "experiments/hosts/simulation/service_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr Executions::ClockId kClock = 0;

}  // namespace

ServiceModel::ServiceModel(JobId job, int batch, std::function<double(int)> batch_factor)
    : job_(job), batch_(static_cast<size_t>(batch)), batch_factor_(std::move(batch_factor)) {
  CHECK(batch >= 1) << "a batch of " << batch;
  CHECK(executions_.AddClock(0) == kClock);
}

void ServiceModel::Send(const Request& request, TimePoint now) {
  ++arrived_;
  waiting_.push_back({job_, request.id, request.scheduled, /*received=*/now, /*started=*/{},
                      /*finished=*/{}, /*batch=*/0});
  work_.push_back(request.work);
  Begin(now);
}

void ServiceModel::SetServers(int servers, double steps_per_second, TimePoint now) {
  servers_ = servers;
  executions_.SetSpeed(kClock, servers > 0 ? steps_per_second : 0, ToSeconds(now));
  Begin(now);
}

void ServiceModel::Begin(TimePoint now) {
  for (Server server = 0; server < servers_ && !waiting_.empty(); ++server) {
    const auto index = static_cast<size_t>(server);
    if (index >= served_.size()) served_.resize(index + 1);
    if (!served_[index].empty()) continue;
    const size_t count = std::min(batch_, waiting_.size());
    double work = 0;
    for (size_t i = 0; i < count; ++i) {
      work = std::max(work, work_.front());
      served_[index].push_back(waiting_.front());
      served_[index].back().started = now;
      served_[index].back().batch = static_cast<int>(count);
      waiting_.pop_front();
      work_.pop_front();
    }
    executions_.Add(server, work * batch_factor_(static_cast<int>(count)));
    executions_.SetRate(server, kClock, 1, ToSeconds(now));
    ++busy_;
  }
}

std::optional<double> ServiceModel::NextCompletion() const {
  const std::optional<Executions::Completion> next = executions_.Next();
  return next ? std::optional(next->time) : std::nullopt;
}

void ServiceModel::Complete(TimePoint now) {
  const std::optional<Executions::Completion> next = executions_.Next();
  CHECK(next) << "nothing is being served";
  executions_.Remove(next->id);
  --busy_;
  for (RequestSample& request : served_[static_cast<size_t>(next->id)]) {
    request.finished = now;
    responses_.push_back(now - request.scheduled);
    answered_.push_back(request);
  }
  served_[static_cast<size_t>(next->id)].clear();
  Begin(now);
}

std::vector<RequestSample> ServiceModel::Take() { return std::exchange(answered_, {}); }

ServiceWindow ServiceModel::TakeWindow(TimePoint now) {
  ServiceWindow window{.length = now - std::exchange(window_begin_, now),
                       .arrived = std::exchange(arrived_, 0),
                       .served = static_cast<int64_t>(responses_.size()),
                       .queued = static_cast<int64_t>(waiting_.size())};
  std::vector<Duration> responses = std::exchange(responses_, {});
  if (responses.empty()) return window;
  const auto sum = std::accumulate(responses.begin(), responses.end(), Duration::zero());
  window.mean_response = sum / static_cast<int64_t>(responses.size());
  const size_t rank = (responses.size() * 95 + 99) / 100 - 1;  // Nearest rank.
  std::nth_element(responses.begin(), responses.begin() + static_cast<int64_t>(rank),
                   responses.end());
  window.p95_response = responses[rank];
  return window;
}

}  // namespace cosched
