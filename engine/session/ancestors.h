#pragma once
// For each task the set of tasks that have finished whenever it starts, in every order that the
// graph allows. Pure; called by what places values in memory.

#include <cstdint>
#include <vector>

#include "engine/session/task_graph.h"

namespace cosched {

class Ancestors {
 public:
  // REQUIRES: the graph is sealed.
  explicit Ancestors(const TaskGraph& tasks)
      : words_((static_cast<size_t>(tasks.Size()) + 63) / 64),
        bits_(words_ * static_cast<size_t>(tasks.Size()), 0) {
    for (int task : tasks.Order()) {
      for (int next : tasks.Successors(task)) {
        uint64_t* to = Row(next);
        const uint64_t* from = Row(task);
        for (size_t word = 0; word < words_; ++word) to[word] |= from[word];
        to[task / 64] |= uint64_t{1} << (task % 64);
      }
    }
  }
  bool IsBefore(int task, int other) const {
    const uint64_t word =
        bits_[static_cast<size_t>(other) * words_ + static_cast<size_t>(task / 64)];
    return (word >> (task % 64) & 1) != 0;
  }

 private:
  uint64_t* Row(int task) { return bits_.data() + static_cast<size_t>(task) * words_; }

  size_t words_;
  std::vector<uint64_t> bits_;
};

}  // namespace cosched
