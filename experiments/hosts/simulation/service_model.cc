#include "experiments/hosts/simulation/service_model.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr Executions::ClockId kClock = 0;

}  // namespace

ServiceModel::ServiceModel(JobId job, int batch, Duration max_delay,
                           std::function<double(int)> batch_factor)
    : job_(job),
      batch_(static_cast<size_t>(batch)),
      max_delay_(max_delay),
      batch_factor_(std::move(batch_factor)) {
  CHECK(batch >= 1) << "a batch of " << batch;
  CHECK(executions_.AddClock(0) == kClock);
}

void ServiceModel::Send(const Request& request, TimePoint now) {
  waiting_.push_back({job_, request.id, request.scheduled, /*received=*/now, /*started=*/{},
                      /*finished=*/{}, /*batch=*/0});
  work_.push_back(request.work);
  Begin(now);
}

void ServiceModel::Drain(TimePoint now) {
  draining_ = true;
  Begin(now);
}

void ServiceModel::SetServers(int servers, double steps_per_second, TimePoint now) {
  servers_ = servers;
  executions_.SetSpeed(kClock, servers > 0 ? steps_per_second : 0, ToSeconds(now));
  Begin(now);
}

bool ServiceModel::Due(TimePoint now) const {
  if (waiting_.empty()) return false;
  return draining_ || waiting_.size() >= batch_ || now >= waiting_.front().received + max_delay_;
}

bool ServiceModel::HasFreeServer() const {
  const auto open = static_cast<size_t>(servers_);
  if (served_.size() < open) return true;
  return std::any_of(served_.begin(), served_.begin() + servers_,
                     [](const auto& batch) { return batch.empty(); });
}

void ServiceModel::Begin(TimePoint now) {
  for (Server server = 0; server < servers_ && Due(now); ++server) {
    const auto index = static_cast<size_t>(server);
    if (index >= served_.size()) served_.resize(index + 1);
    if (served_[index].empty()) BeginBatch(server, now);
  }
}

void ServiceModel::BeginBatch(Server server, TimePoint now) {
  std::vector<RequestSample>& batch = served_[static_cast<size_t>(server)];
  const size_t count = std::min(batch_, waiting_.size());
  double work = 0;
  for (size_t i = 0; i < count; ++i) {
    work = std::max(work, work_.front());
    batch.push_back(waiting_.front());
    batch.back().started = now;
    batch.back().batch = static_cast<int>(count);
    waiting_.pop_front();
    work_.pop_front();
  }
  executions_.Add(server, work * batch_factor_(static_cast<int>(count)));
  executions_.SetRate(server, kClock, 1, ToSeconds(now));
  ++busy_;
}

std::optional<TimePoint> ServiceModel::NextEvent() const {
  std::optional<TimePoint> next;
  if (const auto completion = executions_.Next()) next = NotBefore(completion->time);
  // What is due has begun already, or waits for a server that completes.
  if (waiting_.empty() || !HasFreeServer()) return next;
  const TimePoint due = waiting_.front().received + max_delay_;
  return next ? std::min(*next, due) : due;
}

void ServiceModel::Advance(TimePoint now) {
  const std::optional<Executions::Completion> next = executions_.Next();
  if (next && NotBefore(next->time) <= now) Complete(next->id, now);
  Begin(now);
}

void ServiceModel::Complete(Server server, TimePoint now) {
  executions_.Remove(server);
  --busy_;
  std::vector<RequestSample>& batch = served_[static_cast<size_t>(server)];
  for (RequestSample& request : batch) {
    request.finished = now;
    answered_.push_back(request);
  }
  batch.clear();
}

std::vector<RequestSample> ServiceModel::Take() { return std::exchange(answered_, {}); }

}  // namespace cosched
