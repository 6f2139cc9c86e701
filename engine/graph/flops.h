#pragma once
// Floating-point operations as the field counts them: two for each multiply-accumulate of a
// convolution or a matrix product, none for everything else. The one place that knows it. Pure;
// called by the session's cost estimate and by the engine's benchmark.

#include <vector>

#include "engine/graph/node.h"

namespace cosched {

double Flops(const Node& node, const std::vector<OutputInfo>& inputs);

// Elements that it reads, each as often as windows of a pool or neighbours in an LRN cover it.
double ElementsRead(const Node& node, const std::vector<OutputInfo>& inputs);

}  // namespace cosched
