#pragma once
// The batches that a service's network is built for. Called by the service, by the simulator, which
// has to take as long for them, and by calibration. Stateless.

#include <vector>

namespace cosched {

// Powers of two up to max_batch, and max_batch itself.
std::vector<int> BatchSizes(int max_batch);
// The smallest of them that holds so many requests; the rest of the batch is padding, and computed
// all the same. REQUIRES: 1 <= requests <= max_batch.
int PaddedBatch(int requests, int max_batch);

}  // namespace cosched
