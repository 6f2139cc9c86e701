#pragma once
// How long one node took. A value, returned by the session.

#include <chrono>

#include "engine/graph/node.h"

namespace cosched {

struct NodeTime {
  const Node* node = nullptr;  // A node of the session's graph.
  std::chrono::nanoseconds time{0};
};

}  // namespace cosched
