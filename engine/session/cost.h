#pragma once
// Rough cost of a node, from its shapes alone: it decides what is on the critical path and what is
// not worth queueing.

#include <vector>

#include "engine/graph/node.h"

namespace cosched {

// In floating-point operations of a convolution; an element read or written by a memory-bound op
// counts as several.
double EstimateCost(const Node& node, const std::vector<OutputInfo>& inputs);

// Below this a node takes a microsecond or two, about what it costs to wake another worker.
inline constexpr double kCheapCost = 50'000;
// A path below this takes some tens of microseconds.
inline constexpr double kBriefCost = 100 * kCheapCost;

}  // namespace cosched
