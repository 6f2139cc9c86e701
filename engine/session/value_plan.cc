#include "engine/session/value_plan.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/graph/ops.h"
#include "engine/kernels/kernel.h"
#include "engine/session/ancestors.h"
#include "engine/session/views.h"

namespace cosched {
namespace {

// Inputs that the fast kernel may find where its output lies: it reads each element of them before
// it writes that one, and not again.
std::vector<size_t> MayOverwrite(const Node& node) {
  constexpr std::string_view kFirst[] = {
      "Relu",     "Relu6",       "Sigmoid", "HardSwish", "BiasAdd", "ClipByValue",    "AddN",
      "ReluGrad", "_FusedScale", "Sqrt",    "Erf",       "Gelu",    "_FusedLayerNorm"};
  if (std::find(std::begin(kFirst), std::end(kFirst), node.op) != std::end(kFirst)) return {0};
  if (node.op == "AddV2") return {0, 1};
  if (node.op == "_FusedConv2D" && node.inputs.size() == 4) return {3};
  return {};
}

class ValuePlanner {
 public:
  ValuePlanner(const Graph& graph, const std::vector<int>& task_of)
      : graph_(graph), task_of_(task_of) {}

  // Adds the values of a node all of whose inputs' values have been added.
  void AddValues(const Node& node) {
    if (IsView(graph_, node)) {
      const auto found = value_of_.find(node.inputs[0]);
      if (found != value_of_.end()) value_of_[{node.id, 0}] = found->second;
      return;
    }
    if (!HasKernel(node.op) || !FindOp(node.op)->writes.empty()) return;
    for (int index = 0; index < static_cast<int>(node.outputs.size()); ++index) {
      const OutputInfo& info = node.outputs[static_cast<size_t>(index)];
      value_of_[{node.id, index}] = static_cast<int>(values_.size());
      values_.push_back({.task = TaskOf(node),
                         .bytes = static_cast<size_t>(info.shape.Elements()) * SizeOf(info.type),
                         .users = {}});
      merged_into_.push_back(-1);
    }
  }

  void AddUses(const Node& node) {
    for (const Output& input : node.inputs) {
      const int value = ValueOf(input);
      if (value != -1) At(value).users.push_back(TaskOf(node));
    }
  }

  void Pin(Output output) {
    const int value = output.index == -1 ? -1 : ValueOf(output);
    if (value != -1) At(value).pinned = true;
  }

  void TryInPlace(const Node& node, const Ancestors& before) {
    for (size_t i : MayOverwrite(node)) {
      const int input = ValueOf(node.inputs[i]), output = ValueOf({node.id, 0});
      if (input == -1 || input == output || !MayTake(node, input, output, before)) continue;
      PlannedValue& shared = At(input);
      PlannedValue& joining = At(output);
      shared.users.insert(shared.users.end(), joining.users.begin(), joining.users.end());
      shared.pinned = joining.pinned;
      merged_into_[static_cast<size_t>(output)] = input;
      return;
    }
  }

  ValuePlan Result() {
    ValuePlan plan;
    std::vector<int> place(values_.size(), -1);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (merged_into_[i] != -1) continue;
      place[i] = static_cast<int>(plan.values.size());
      plan.values.push_back(std::move(values_[i]));
    }
    for (const auto& [output, value] : value_of_)
      plan.value_of[output] = place[static_cast<size_t>(Owner(value))];
    return plan;
  }

 private:
  PlannedValue& At(int value) { return values_[static_cast<size_t>(value)]; }
  int TaskOf(const Node& node) const { return task_of_[static_cast<size_t>(node.id)]; }
  int Owner(int value) const {
    while (merged_into_[static_cast<size_t>(value)] != -1)
      value = merged_into_[static_cast<size_t>(value)];
    return value;
  }
  int ValueOf(Output output) const {
    const auto found = value_of_.find(output);
    return found == value_of_.end() ? -1 : Owner(found->second);
  }

  bool MayTake(const Node& node, int input, int output, const Ancestors& before) {
    const PlannedValue& value = At(input);
    if (value.pinned || value.bytes != At(output).bytes) return false;
    const auto reads = std::count_if(node.inputs.begin(), node.inputs.end(),
                                     [&](Output other) { return ValueOf(other) == input; });
    const int self = TaskOf(node);
    return reads == 1 && std::all_of(value.users.begin(), value.users.end(), [&](int user) {
             return user == self || before.IsBefore(user, self);
           });
  }

  const Graph& graph_;
  const std::vector<int>& task_of_;
  std::vector<PlannedValue> values_;
  std::vector<int> merged_into_;  // By value; -1: it is its own.
  std::map<Output, int> value_of_;
};

}  // namespace

ValuePlan PlanValues(const Graph& graph, const std::vector<const Node*>& nodes,
                     const std::vector<int>& task_of, const TaskGraph& tasks,
                     const std::vector<Output>& fetches, bool in_place) {
  ValuePlanner planner(graph, task_of);
  for (const Node* node : nodes) planner.AddValues(*node);
  for (const Node* node : nodes) planner.AddUses(*node);
  for (const Output& fetch : fetches) planner.Pin(fetch);
  if (in_place) {
    const Ancestors before(tasks);
    for (const Node* node : nodes) planner.TryInPlace(*node, before);
  }
  return planner.Result();
}

}  // namespace cosched
