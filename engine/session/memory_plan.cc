#include "engine/session/memory_plan.h"

#include <algorithm>

#include "engine/session/ancestors.h"

namespace cosched {
namespace {

class Planner {
 public:
  Planner(const TaskGraph& tasks, const std::vector<PlannedValue>& values,
          const std::vector<size_t>& existing)
      : values_(values), before_(tasks), existing_(existing.size()) {
    plan_.buffer_of.assign(values.size(), -1);
    plan_.buffer_bytes = existing;
    last_.assign(existing.size(), -1);
  }

  void Place(int value) {
    const PlannedValue& wanted = values_[static_cast<size_t>(value)];
    int buffer = Choose(wanted);
    if (buffer == -1) {
      buffer = static_cast<int>(plan_.buffer_bytes.size());
      plan_.buffer_bytes.push_back(0);
      last_.push_back(-1);
    }
    size_t& bytes = plan_.buffer_bytes[static_cast<size_t>(buffer)];
    bytes = std::max(bytes, wanted.bytes);
    last_[static_cast<size_t>(buffer)] = value;
    plan_.buffer_of[static_cast<size_t>(value)] = buffer;
  }

  const MemoryPlan& plan() const { return plan_; }

 private:
  // The free buffer whose size is nearest, within a factor of two so that small values don't occupy
  // large buffers; an existing one can't grow.
  int Choose(const PlannedValue& wanted) const {
    int best = -1;
    size_t best_distance = 0;
    for (int buffer = 0; buffer < static_cast<int>(last_.size()); ++buffer) {
      const size_t bytes = plan_.buffer_bytes[static_cast<size_t>(buffer)];
      const bool fits = bytes >= wanted.bytes
                            ? bytes <= 2 * wanted.bytes
                            : 2 * bytes >= wanted.bytes && static_cast<size_t>(buffer) >= existing_;
      if (!fits) continue;
      const size_t distance = bytes > wanted.bytes ? bytes - wanted.bytes : wanted.bytes - bytes;
      if (best != -1 && distance >= best_distance) continue;
      if (!IsFree(last_[static_cast<size_t>(buffer)], wanted.task)) continue;
      best = buffer;
      best_distance = distance;
    }
    return best;
  }

  // Whoever used the buffer for an earlier value had finished before `occupant` was produced.
  bool IsFree(int occupant, int task) const {
    if (occupant == -1) return true;
    const PlannedValue& value = values_[static_cast<size_t>(occupant)];
    return !value.pinned && before_.IsBefore(value.task, task) &&
           std::all_of(value.users.begin(), value.users.end(),
                       [&](int user) { return before_.IsBefore(user, task); });
  }

  const std::vector<PlannedValue>& values_;
  const Ancestors before_;
  const size_t existing_;
  std::vector<int> last_;  // By buffer: the value that had it last, -1 = none in this run.
  MemoryPlan plan_;
};

}  // namespace

MemoryPlan PlanMemory(const TaskGraph& tasks, const std::vector<PlannedValue>& values,
                      const std::vector<size_t>& existing) {
  std::vector<int> position(static_cast<size_t>(tasks.Size()));
  for (int i = 0; i < tasks.Size(); ++i) {
    position[static_cast<size_t>(tasks.Order()[static_cast<size_t>(i)])] = i;
  }
  std::vector<int> order;
  for (size_t value = 0; value < values.size(); ++value) order.push_back(static_cast<int>(value));
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return position[static_cast<size_t>(values[static_cast<size_t>(a)].task)] <
           position[static_cast<size_t>(values[static_cast<size_t>(b)].task)];
  });
  Planner planner(tasks, values, existing);
  for (int value : order) planner.Place(value);
  return planner.plan();
}

}  // namespace cosched
