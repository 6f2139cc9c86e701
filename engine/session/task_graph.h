#pragma once
// What must run before what, for one list of fetches: tasks 0..n-1, each cheap or expensive, and
// edges between them. Plain bookkeeping that knows neither kernels nor threads. Built once by the
// plan, then immutable and thread-safe.

#include <span>
#include <utility>
#include <vector>

namespace cosched {

class TaskGraph {
 public:
  // `cost` is an estimate in any unit, equal for all tasks; `turn`: the node's. Returns the task's
  // number.
  int Add(bool cheap, double cost, int turn = 0);
  void AddEdge(int before, int after);  // Twice the same edge counts once.
  // From now on a turn's tasks begin when all of the turn before have finished; those without a
  // turn (0) begin when they can. REQUIRES: all edges are there, and none leads to an earlier turn,
  // also by way of tasks without one.
  void RunInTurn();
  // Sorts and ranks. REQUIRES: no cycle.
  void Seal();

  int Size() const { return static_cast<int>(tasks_.size()); }
  bool IsCheap(int task) const { return At(task).cheap; }
  int Predecessors(int task) const { return At(task).predecessors; }
  std::span<const int> Successors(int task) const {
    return std::span(successors_).subspan(At(task).first, At(task).successors);
  }
  // 0 for the task of the lowest turn with the costliest path from its start to the end of the run,
  // and so on: the critical path first.
  int Rank(int task) const { return At(task).rank; }
  // The cost of that path, the task included.
  double PathCost(int task) const { return At(task).path; }
  int TaskOfRank(int rank) const { return by_rank_[static_cast<size_t>(rank)]; }
  // Cost of all tasks by that of the costliest path: how many could run at once on average, at
  // most.
  double Width() const;
  const std::vector<int>& Order() const { return order_; }  // A topological order.

 private:
  struct Task {
    bool cheap = false;
    double cost = 0;
    int turn = 0;
    double path = 0;  // Cost of the costliest path that starts with this task.
    int predecessors = 0;
    int rank = 0;
    size_t first = 0, successors = 0;  // A range of successors_.
  };
  const Task& At(int task) const { return tasks_[static_cast<size_t>(task)]; }

  std::vector<Task> tasks_;
  std::vector<std::pair<int, int>> edges_;
  std::vector<int> successors_;
  std::vector<int> order_;
  std::vector<int> by_rank_;
  double longest_path_ = 0;
};

}  // namespace cosched
