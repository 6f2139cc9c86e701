#pragma once
// Memory for what a run computes. Called by the fetch plan, with what the memory plan wants. Not
// thread-safe; nothing is shared between stores.

#include <cstddef>
#include <vector>

#include "engine/graph/tensor.h"

namespace cosched {

// Adds the buffers that `bytes` has beyond those that are there, floats, each large enough.
// Together they are one piece of memory if that is large: then it lies on huge pages, where one by
// one they were too small for them. (Inception-v3's buffers, on small ones, cost a batch of eight a
// fifth of its time, by where they happened to lie.) Small ones are allocated one by one, so that
// AddressSanitizer sees a kernel that writes past the end of its own.
void AddRunBuffers(std::vector<Tensor>* buffers, const std::vector<size_t>& bytes);

}  // namespace cosched
