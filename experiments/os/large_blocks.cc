#include "experiments/os/large_blocks.h"

#include <malloc.h>

#include "engine/base/check.h"

namespace cosched {

void ReturnLargeBlocks() {
  // Setting the threshold also ends its growth.
  CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
}

}  // namespace cosched
