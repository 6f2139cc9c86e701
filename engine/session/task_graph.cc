#include "engine/session/task_graph.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/base/check.h"

namespace cosched {

int TaskGraph::Add(bool cheap, double cost, int turn) {
  tasks_.push_back({.cheap = cheap, .cost = cost, .turn = turn});
  return Size() - 1;
}

void TaskGraph::AddEdge(int before, int after) { edges_.emplace_back(before, after); }

void TaskGraph::RunInTurn() {
  std::vector<bool> begins(tasks_.size(), true), ends(tasks_.size(), true);
  for (const auto& [before, after] : edges_) {
    if (At(before).turn != At(after).turn) continue;
    ends[static_cast<size_t>(before)] = false;
    begins[static_cast<size_t>(after)] = false;
  }
  std::map<int, std::pair<std::vector<int>, std::vector<int>>> turns;  // What begins and ends each.
  for (int task = 0; task < Size(); ++task) {
    if (At(task).turn == 0) continue;
    if (begins[static_cast<size_t>(task)]) turns[At(task).turn].first.push_back(task);
    if (ends[static_cast<size_t>(task)]) turns[At(task).turn].second.push_back(task);
  }
  const std::vector<int>* last = nullptr;
  for (const auto& [turn, tasks] : turns) {
    for (int before : last == nullptr ? std::vector<int>() : *last) {
      for (int after : tasks.first) AddEdge(before, after);
    }
    last = &tasks.second;
  }
}

void TaskGraph::Seal() {
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  successors_.reserve(edges_.size());
  for (const auto& [before, after] : edges_) {
    Task& task = tasks_[static_cast<size_t>(before)];
    if (task.successors++ == 0) task.first = successors_.size();
    successors_.push_back(after);
    ++tasks_[static_cast<size_t>(after)].predecessors;
  }
  std::vector<int> pending;
  for (int task = 0; task < Size(); ++task) {
    pending.push_back(Predecessors(task));
    if (pending.back() == 0) order_.push_back(task);
  }
  for (size_t i = 0; i < order_.size(); ++i) {
    for (int next : Successors(order_[i])) {
      if (--pending[static_cast<size_t>(next)] == 0) order_.push_back(next);
    }
  }
  CHECK(order_.size() == tasks_.size()) << "the tasks form a cycle";
  for (auto task = order_.rbegin(); task != order_.rend(); ++task) {
    double longest = 0;
    for (int next : Successors(*task)) longest = std::max(longest, At(next).path);
    Task& self = tasks_[static_cast<size_t>(*task)];
    self.path = self.cost + longest;
    longest_path_ = std::max(longest_path_, self.path);
  }
  by_rank_.resize(tasks_.size());
  std::iota(by_rank_.begin(), by_rank_.end(), 0);
  std::stable_sort(by_rank_.begin(), by_rank_.end(), [this](int a, int b) {
    return At(a).turn != At(b).turn ? At(a).turn < At(b).turn : At(a).path > At(b).path;
  });
  for (int rank = 0; rank < Size(); ++rank) {
    tasks_[static_cast<size_t>(TaskOfRank(rank))].rank = rank;
  }
}

double TaskGraph::Width() const {
  double all = 0;
  for (const Task& task : tasks_) all += task.cost;
  return longest_path_ > 0 ? all / longest_path_ : 1;
}

}  // namespace cosched
