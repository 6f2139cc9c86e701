#include "experiments/watch/service_story.h"

#include <algorithm>

namespace cosched {

size_t CountUntil(const std::vector<double>& times, double until) {
  return static_cast<size_t>(std::ranges::upper_bound(times, until) - times.begin());
}

void InsertByTime(double time, std::vector<double>* times) {
  auto place = times->end();
  while (place != times->begin() && *(place - 1) > time) --place;
  times->insert(place, time);
}

double ServiceStory::Add(const RequestRow& row) {
  const double sent = row.sent;
  double over = row.finished ? double{*row.finished} : std::max(latest_, sent);
  if (row.dispatched) over = std::max(over, double{*row.dispatched});
  latest_ = std::max(latest_, over);
  InsertByTime(sent, &sent_);
  InsertByTime(row.dispatched ? double{*row.dispatched} : over, &left_queue_);
  if (row.dispatched) {
    InsertByTime(*row.dispatched, &given_);
    InsertByTime(over, &taken_back_);
  }
  if (row.state != "served") {
    InsertByTime(over, &drops_);
    return over;
  }
  auto place = answers_.end();
  while (place != answers_.begin() && (place - 1)->time > over) --place;
  answers_.insert(place, {over, over - row.scheduled});
  return over;
}

void ServiceStory::Add(const QueueRow& row) {
  queues_.push_back({row.time, row.queued, row.in_flight});
}

ServiceMoment ServiceStory::At(double time, bool whole) const {
  ServiceMoment moment;
  const auto count = [time](const std::vector<double>& times) {
    return static_cast<int64_t>(CountUntil(times, time));
  };
  if (whole) {
    moment.queued = count(sent_) - count(left_queue_);
    moment.in_flight = count(given_) - count(taken_back_);
  }
  const auto later = std::ranges::upper_bound(queues_, time, {}, &QueueSample::time);
  if (later != queues_.begin() && !whole) {
    moment.queued = (later - 1)->queued;
    moment.in_flight = (later - 1)->in_flight;
  }
  const auto end = std::ranges::upper_bound(answers_, time, {}, &Answer::time);
  moment.answered = end - answers_.begin();
  moment.dropped = count(drops_);
  double responses = 0;
  int64_t recent = 0;
  for (auto answer = end; answer != answers_.begin(); ++recent) {
    --answer;
    if (answer->time <= time - kSpeedWindow_s) break;
    responses += answer->response_s;
  }
  const double window = std::min(kSpeedWindow_s, time);
  if (window > 0) moment.answered_per_s = static_cast<double>(recent) / window;
  if (recent > 0) moment.mean_response_s = responses / static_cast<double>(recent);
  return moment;
}

}  // namespace cosched
