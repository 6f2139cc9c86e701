#include "workloads/batch_sizes.h"

#include <algorithm>
#include <bit>

namespace cosched {

std::vector<int> BatchSizes(int max_batch) {
  std::vector<int> sizes;
  for (int size = 1; size < max_batch; size *= 2) sizes.push_back(size);
  sizes.push_back(max_batch);
  return sizes;
}

int PaddedBatch(int requests, int max_batch) {
  const auto power = static_cast<int>(std::bit_ceil(static_cast<unsigned>(requests)));
  return std::min(power, max_batch);
}

}  // namespace cosched
