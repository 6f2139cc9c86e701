#pragma once
// The values of one run, and which of them share memory from the start: a Reshape with what it
// reshapes, and an element-wise op's output with an input that nobody reads afterwards (in every
// order). The memory plan then shares buffers between values whose lives do not overlap. Pure;
// called by the fetch plan.

#include <map>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/session/memory_plan.h"
#include "engine/session/task_graph.h"

namespace cosched {

struct ValuePlan {
  std::vector<PlannedValue> values;
  std::map<Output, int> value_of;  // Outputs that lie in memory of the run; not those in variables.
};

// `nodes`: those of the run in the order of the graph; task_of: by node, as the tasks. in_place:
// whether kernels may find an input and the output in one place (the reference loops may not).
ValuePlan PlanValues(const Graph& graph, const std::vector<const Node*>& nodes,
                     const std::vector<int>& task_of, const TaskGraph& tasks,
                     const std::vector<Output>& fetches, bool in_place);

}  // namespace cosched
