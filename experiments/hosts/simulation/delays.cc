#include "experiments/hosts/simulation/delays.h"

namespace cosched {

const DelayQuantiles& ResizeDelayOf(const ResizeDelays& delays, const CpuSet& from,
                                    const CpuSet& to) {
  if (to.Empty()) return delays.pause;
  if (from.Empty()) return delays.resume;
  return to.Count() > from.Count() ? delays.grow : delays.shrink;
}

}  // namespace cosched
