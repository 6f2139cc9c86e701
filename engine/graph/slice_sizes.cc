#include "engine/graph/slice_sizes.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace cosched {
namespace {

std::vector<int64_t> Candidates(const SliceLimits& limits) {
  std::vector<int64_t> sizes;
  for (int64_t size = limits.least; size <= limits.most; size += limits.least) {
    if (limits.batch % size == 0) sizes.push_back(size);
  }
  if (sizes.empty()) sizes.push_back(limits.least);
  return sizes;
}

// Bytes of each image that come from beyond the cache: what of the slice does not fit into it, and
// the image's share of weights that have left it since the slice before.
double Fetched(const SlicedNode& node, int64_t size, int64_t cache, bool weights_leave) {
  const double images = static_cast<double>(size);
  const double kept = static_cast<double>(cache) / images;
  const double weights = weights_leave ? static_cast<double>(node.weights) / images : 0;
  return std::max(static_cast<double>(node.images) - kept, 0.0) + weights;
}

}  // namespace

std::vector<int64_t> SliceSizes(const std::vector<SlicedNode>& nodes, const SliceLimits& limits) {
  const std::vector<int64_t> sizes = Candidates(limits);
  const int64_t weights =
      std::accumulate(nodes.begin(), nodes.end(), int64_t{0},
                      [](int64_t sum, const SlicedNode& node) { return sum + node.weights; });
  // The least of all ways to a node of this size, by node and size, and the size before it.
  std::vector<double> least(sizes.size(), 0);
  std::vector<std::vector<size_t>> from;
  for (size_t n = 0; n < nodes.size(); ++n) {
    constexpr double kCopies = 2;  // Read and written.
    const double join = n == 0 ? 0 : kCopies * static_cast<double>(nodes[n - 1].carried);
    std::vector<double> sums(sizes.size(), std::numeric_limits<double>::infinity());
    from.emplace_back(sizes.size(), 0);
    for (size_t size = 0; size < sizes.size(); ++size) {
      for (size_t before = 0; before <= size; ++before) {
        if (sizes[size] % sizes[before] != 0) continue;
        const double sum = least[before] + (before == size ? 0 : join);
        if (sum >= sums[size]) continue;
        sums[size] = sum;
        from.back()[size] = before;
      }
      sums[size] += Fetched(nodes[n], sizes[size], limits.cache, weights > limits.cache);
    }
    least = std::move(sums);
  }
  std::vector<int64_t> chosen(nodes.size());
  auto size = static_cast<size_t>(std::min_element(least.begin(), least.end()) - least.begin());
  for (size_t n = nodes.size(); n > 0; --n) {
    chosen[n - 1] = sizes[size];
    size = from[n - 1][size];
  }
  return chosen;
}

}  // namespace cosched
