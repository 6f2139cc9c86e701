#include "experiments/os/large_blocks.h"

#include <malloc.h>

namespace cosched {

void ReturnLargeBlocks() {
  // Setting the threshold also ends its growth. Another allocator, as sanitizers have, may not take
  // it, and need not.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);  // NOLINT(concurrency-mt-unsafe): there are no threads yet.
}

}  // namespace cosched
