#pragma once
// Which values of a run may lie in the same buffer: a value takes over a buffer if everyone who
// touched the value before has finished in *every* order that the task graph allows. So buffers are
// fixed once and nothing is allocated or counted while a step runs. Pure; called by the plan.

#include <cstddef>
#include <vector>

#include "engine/session/task_graph.h"

namespace cosched {

struct PlannedValue {
  int task = -1;  // Who produces it.
  size_t bytes = 0;
  std::vector<int> users;  // Tasks that read it.
  bool pinned = false;     // Read after the run: its buffer is never taken over.
};

struct MemoryPlan {
  std::vector<int> buffer_of;        // By value.
  std::vector<size_t> buffer_bytes;  // By buffer; starts with the existing ones, unchanged.
};

// `existing`: sizes of buffers that other runs left, free at the start of this one. REQUIRES: the
// graph is sealed.
MemoryPlan PlanMemory(const TaskGraph& tasks, const std::vector<PlannedValue>& values,
                      const std::vector<size_t>& existing);

}  // namespace cosched
