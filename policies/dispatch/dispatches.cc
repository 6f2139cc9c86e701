#include "policies/dispatch/dispatches.h"

#include <fmt/format.h>

#include <array>

namespace cosched {

DispatchInfo RoundRobinDispatch();
DispatchInfo RandomDispatch();
DispatchInfo LongestQueueDispatch();
DispatchInfo H1Dispatch();
DispatchInfo EarliestDeadlineDispatch();
DispatchInfo LeastSlackDispatch();
DispatchInfo ShortestExpectedDispatch();
DispatchInfo WeightedDispatch();
DispatchInfo ClockworkDispatch();

std::span<const DispatchInfo> Dispatches() {
  static const std::array kDispatches = {
      RoundRobinDispatch(), RandomDispatch(),    LongestQueueDispatch(),
      H1Dispatch(),         WeightedDispatch(),  EarliestDeadlineDispatch(),
      LeastSlackDispatch(), ClockworkDispatch(), ShortestExpectedDispatch()};
  return kDispatches;
}

const DispatchInfo* FindDispatch(std::string_view name) {
  for (const DispatchInfo& info : Dispatches()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::string DispatchNames() {
  std::string names;
  for (const DispatchInfo& info : Dispatches())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  return names;
}

std::unique_ptr<Dispatch> MakeDispatch(const DispatchInfo& info, const Parameters& parameters,
                                       const Random& random) {
  return info.make(Completed(fmt::format("dispatch.{}", info.name), info.parameters, parameters),
                   random);
}

}  // namespace cosched
