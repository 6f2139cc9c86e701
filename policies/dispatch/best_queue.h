#pragma once
// For dispatches that rank queues. Pure.

#include <cstddef>
#include <span>

#include "policies/dispatch/dispatch.h"

namespace cosched {

// The index of the queue with the least key; of equal ones the one whose front request waited
// longest, of these the first. Empty queues come after all others. REQUIRES: queues is not empty.
template <typename Key>
size_t LeastQueue(std::span<const QueueView> queues, Key key) {
  size_t best = 0;
  auto best_key = key(queues[0]);
  for (size_t i = 1; i < queues.size(); ++i) {
    const QueueView &one = queues[i], &other = queues[best];
    if (one.length == 0 && other.length > 0) continue;
    const auto one_key = key(one);
    const bool is_first_to_wait = one.length > 0 && other.length == 0;
    if (!is_first_to_wait && best_key < one_key) continue;
    if (is_first_to_wait || one_key < best_key || one.oldest_wait > other.oldest_wait) {
      best = i;
      best_key = one_key;
    }
  }
  return best;
}

}  // namespace cosched
