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
  JobSequence::Key bound = {};
  if (after) bound = QueueKey(nodes_.at(after->id.value), order);
  const JobView* first = nullptr;
  JobSequence::Key first_key = {};
  for (const auto& [preferred, jobs] : queue.by_preferred) {
    if (preferred > cores) break;
    const auto next = after ? jobs.upper_bound(bound) : jobs.begin();
    if (next == jobs.end() || (first && first_key < next->first)) continue;
    std::tie(first_key, first) = *next;
  }
  return first;
}

const JobView& JobTable::Add(JobView job) {
  const int64_t id = job.id.value;
  const auto [place, is_new] = nodes_.try_emplace(id);
  CHECK(is_new) << "job " << id << " is in the table";
  Node& node = place->second;
  node.view = std::move(job);
  node.sequence = next_sequence_++;
  node.in_all = Insert(&all_, {0, node.sequence}, &node.view);
  Link(&node);
  holders_.Add(HeldBy(node.view));
  sharers_ += node.view.Shares() ? 1 : 0;
  return node.view;
}

void JobTable::Remove(JobId id) {
  const auto found = nodes_.find(id.value);
  CHECK(found != nodes_.end()) << "job " << id.value << " is not in the table";
  const Node& node = found->second;
  Unlink(node.view.state, node.view.request.preferred, node);
  holders_.Remove(HeldBy(node.view));
  sharers_ -= node.view.Shares() ? 1 : 0;
  all_.erase(node.in_all);
  nodes_.erase(found);
}

void JobTable::CheckId(JobId id, const JobView& job) {
  CHECK(job.id == id) << "job " << id.value << " became " << job.id.value;
}

JobTable::Node& JobTable::At(JobId id) {
  const auto found = nodes_.find(id.value);
  CHECK(found != nodes_.end()) << "job " << id.value << " is not in the table";
  return found->second;
}

JobSequence::Key JobTable::QueueKey(const Node& node, QueueOrder order) {
  return {order == QueueOrder::kPriority ? -int64_t{node.view.priority} : 0, node.sequence};
}

JobSequence::Key JobTable::StateKey(const Node& node) {
  switch (node.view.state) {
    case JobState::kWaiting: return QueueKey(node, QueueOrder::kPriority);
    case JobState::kRunning: {
      const TimePoint started = node.view.started.value_or(TimePoint());
      return {started.time_since_epoch().count(), node.sequence};
    }
    case JobState::kPaused: break;
  }
  return {0, node.sequence};
}

// Most jobs come last: they are the newest of their order.
JobTable::Position JobTable::Insert(JobSequence::Index* index, const JobSequence::Key& key,
                                    const JobView* job) {
  return index->emplace_hint(index->end(), key, job);
}

void JobTable::Link(Node* node) {
  const JobView* job = &node->view;
  switch (job->state) {
    case JobState::kWaiting:
      for (const QueueOrder order : kOrders) {
        const auto i = static_cast<size_t>(order);
        Queue& queue = waiting_[i];
        const JobSequence::Key key = QueueKey(*node, order);
        node->in_queue[i] = Insert(&queue.all, key, job);
        node->in_by_preferred[i] = Insert(&queue.by_preferred[job->request.preferred], key, job);
      }
      break;
    case JobState::kRunning: node->in_state = Insert(&running_, StateKey(*node), job); break;
    case JobState::kPaused: node->in_state = Insert(&paused_, StateKey(*node), job); break;
  }
}

void JobTable::Unlink(JobState state, int preferred, const Node& node) {
  switch (state) {
    case JobState::kWaiting:
      for (const QueueOrder order : kOrders) {
        const auto i = static_cast<size_t>(order);
        Queue& queue = waiting_[i];
        queue.all.erase(node.in_queue[i]);
        const auto same = queue.by_preferred.find(preferred);
        same->second.erase(node.in_by_preferred[i]);
        if (same->second.empty()) queue.by_preferred.erase(same);
      }
      break;
    case JobState::kRunning: running_.erase(node.in_state); break;
    case JobState::kPaused: paused_.erase(node.in_state); break;
  }
}

}  // namespace cosched
