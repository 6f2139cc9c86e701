#include "policies/job_table.h"

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr QueueOrder kOrders[] = {QueueOrder::kFcfs, QueueOrder::kPriority};

}  // namespace

JobTable::JobTable(std::initializer_list<JobView> jobs) {
  for (const JobView& job : jobs) Add(job);
}

JobTable::JobTable(const JobTable& other) {
  for (const JobView& job : other) Add(job);
}

JobTable& JobTable::operator=(const JobTable& other) {
  if (this != &other) *this = JobTable(other);
  return *this;
}

const JobView* JobTable::Find(JobId id) const {
  const auto found = nodes_.find(id.value);
  return found == nodes_.end() ? nullptr : &found->second.view;
}

JobSequence JobTable::Waiting(QueueOrder order) const {
  return JobSequence(waiting_[static_cast<size_t>(order)].all);
}

const JobView* JobTable::NextAskingAtMost(int cores, QueueOrder order, const JobView* after) const {
  const Queue& queue = waiting_[static_cast<size_t>(order)];
  JobSequence::Key bound = {std::numeric_limits<int64_t>::min(), 0};
  if (after) bound = QueueKey(nodes_.at(after->id.value), order);
  const JobView* first = nullptr;
  JobSequence::Key first_key = {};
  for (const auto& [preferred, jobs] : queue.by_preferred) {
    if (preferred > cores) break;
    const auto next = jobs.upper_bound(bound);
    if (next == jobs.end() || (first && first_key < next->first)) continue;
    std::tie(first_key, first) = *next;
  }
  return first;
}

void JobTable::Add(JobView job) {
  const int64_t id = job.id.value;
  const auto [node, is_new] = nodes_.try_emplace(id, Node{std::move(job), next_sequence_++});
  CHECK(is_new) << "job " << id << " is in the table";
  Link(node->second);
}

void JobTable::Update(JobId id, const std::function<void(JobView&)>& change) {
  Node& node = nodes_.at(id.value);
  Unlink(node);
  change(node.view);
  CHECK(node.view.id == id) << "job " << id.value << " became " << node.view.id.value;
  Link(node);
}

void JobTable::Remove(JobId id) {
  const auto node = nodes_.find(id.value);
  CHECK(node != nodes_.end()) << "job " << id.value << " is not in the table";
  Unlink(node->second);
  nodes_.erase(node);
}

JobSequence::Key JobTable::QueueKey(const Node& node, QueueOrder order) {
  return {order == QueueOrder::kPriority ? -int64_t{node.view.priority} : 0, node.sequence};
}

void JobTable::Link(const Node& node) {
  const JobView& job = node.view;
  all_[{0, node.sequence}] = &job;
  switch (job.state) {
    case JobState::kWaiting:
      for (QueueOrder order : kOrders) {
        Queue& queue = waiting_[static_cast<size_t>(order)];
        const JobSequence::Key key = QueueKey(node, order);
        queue.all[key] = &job;
        queue.by_preferred[job.request.preferred][key] = &job;
      }
      break;
    case JobState::kRunning:
      running_[{job.started.value_or(TimePoint()).time_since_epoch().count(), node.sequence}] =
          &job;
      holders_.Add(job.cores);
      break;
    case JobState::kPaused: paused_[{0, node.sequence}] = &job; break;
  }
}

void JobTable::Unlink(const Node& node) {
  const JobView& job = node.view;
  all_.erase({0, node.sequence});
  switch (job.state) {
    case JobState::kWaiting:
      for (QueueOrder order : kOrders) {
        Queue& queue = waiting_[static_cast<size_t>(order)];
        const JobSequence::Key key = QueueKey(node, order);
        queue.all.erase(key);
        const auto same = queue.by_preferred.find(job.request.preferred);
        same->second.erase(key);
        if (same->second.empty()) queue.by_preferred.erase(same);
      }
      break;
    case JobState::kRunning:
      running_.erase({job.started.value_or(TimePoint()).time_since_epoch().count(), node.sequence});
      holders_.Remove(job.cores);
      break;
    case JobState::kPaused: paused_.erase({0, node.sequence}); break;
  }
}

}  // namespace cosched
