#include "experiments/tenant/rank_shares.h"

#include <algorithm>

namespace cosched {

std::vector<RankPlace> ShareAmongRanks(const CpuSet& cores, Split split, int ranks) {
  const int count = cores.Count();
  std::vector<RankPlace> places(static_cast<size_t>(ranks));
  if (count == 0) return places;
  const std::vector<int> all = cores.ToVector();
  size_t next = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlace& place = places[static_cast<size_t>(rank)];
    const int own = count / ranks + (rank < count % ranks ? 1 : 0);
    for (int i = 0; i < own; ++i) place.cores.Add(all[next++]);
    place.home = own > 0 ? place.cores : cores;
    place.gives_back = own == 0;
    // At least one of each, and no more threads than cores (ThreadsOf).
    place.split.inter = std::clamp((split.inter * own + count - 1) / count, 1, std::max(own, 1));
    place.split.intra = std::clamp(split.intra, 1, std::max(own, 1));
  }
  return places;
}

}  // namespace cosched
