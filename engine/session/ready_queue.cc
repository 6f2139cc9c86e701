#include "engine/session/ready_queue.h"

#include <algorithm>
#include <functional>

namespace cosched {

ReadyQueue::ReadyQueue(const TaskGraph* graph) : graph_(graph) {
  pending_.resize(static_cast<size_t>(graph->Size()));
  cheap_.reserve(pending_.size());
  expensive_.reserve(pending_.size());
}

void ReadyQueue::Start() {
  cheap_.clear();
  expensive_.clear();
  running_ = 0;
  unfinished_ = graph_->Size();
  aborted_ = false;
  for (int task = 0; task < graph_->Size(); ++task) {
    pending_[static_cast<size_t>(task)] = graph_->Predecessors(task);
    if (graph_->Predecessors(task) == 0) Push(task);
  }
}

int ReadyQueue::Take() {
  int task = -1;
  if (!cheap_.empty()) {
    task = cheap_.back();
    cheap_.pop_back();
  } else if (!expensive_.empty()) {
    std::pop_heap(expensive_.begin(), expensive_.end(), std::greater<>());
    task = graph_->TaskOfRank(expensive_.back());
    expensive_.pop_back();
  }
  if (task != -1) ++running_;
  return task;
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
