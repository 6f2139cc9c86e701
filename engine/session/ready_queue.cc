#include "engine/session/ready_queue.h"

#include <algorithm>
#include <functional>

namespace cosched {

ReadyQueue::ReadyQueue(const TaskGraph* graph) : graph_(graph) {
  pending_.resize(static_cast<size_t>(graph->Size()));
  given_back_.reserve(pending_.size());
  cheap_.reserve(pending_.size());
  expensive_.reserve(pending_.size());
}

void ReadyQueue::Start(double brief) {
  given_back_.clear();
  cheap_.clear();
  expensive_.clear();
  running_ = 0;
  unfinished_ = graph_->Size();
  brief_ = brief;
  long_left_ = 0;
  aborted_ = false;
  for (int task = 0; task < graph_->Size(); ++task) {
    pending_[static_cast<size_t>(task)] = graph_->Predecessors(task);
    long_left_ += graph_->PathCost(task) < brief ? 0 : 1;
    if (graph_->Predecessors(task) == 0) Push(task);
  }
  nearly_done_ = unfinished_ > 0 && long_left_ == 0;
}

TaskAtPiece ReadyQueue::Take() {
  TaskAtPiece next;
  if (!given_back_.empty()) {
    next = given_back_.back();
    given_back_.pop_back();
  } else if (!cheap_.empty()) {
    next.task = cheap_.back();
    cheap_.pop_back();
  } else if (!expensive_.empty()) {
    std::pop_heap(expensive_.begin(), expensive_.end(), std::greater<>());
    next.task = graph_->TaskOfRank(expensive_.back());
    expensive_.pop_back();
  }
  if (next.task == -1) return next;
  ++running_;
  // Where slices take turns, the end of one comes before long paths of others.
  nearly_done_ = nearly_done_ || long_left_ == 0;
  if (next.piece == 0 && graph_->PathCost(next.task) >= brief_) --long_left_;
  return next;
}

void ReadyQueue::GiveBack(TaskAtPiece rest) {
  --running_;
  if (!aborted_) given_back_.push_back(rest);
}

void ReadyQueue::Finish(int task) {
  --running_;
  --unfinished_;
  if (aborted_) return;
  for (int next : graph_->Successors(task)) {
    if (--pending_[static_cast<size_t>(next)] == 0) Push(next);
  }
}

void ReadyQueue::Abort() {
  aborted_ = true;
  given_back_.clear();
  cheap_.clear();
  expensive_.clear();
}

void ReadyQueue::Push(int task) {
  if (graph_->IsCheap(task)) {
    cheap_.push_back(task);
  } else {
    expensive_.push_back(graph_->Rank(task));
    std::push_heap(expensive_.begin(), expensive_.end(), std::greater<>());
  }
}

}  // namespace cosched
